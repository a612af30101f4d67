//! How a file is compressed, as its name says, and the reader that undoes it.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use zstd::stream::read::Decoder as ZstdDecoder;

/// The windows of zstd frames that are accepted, as powers of two: 128 MiB of any content, as the format's own program
/// does, and up to 2 GiB of content that may be so long. Pushshift's dumps need these.
const ZSTD_WINDOW_LOGS: (u32, u32) = (27, 31);
/// The most memory that a block of an xz file may ask for; `xz -9` needs a sixteenth.
const XZ_MEMORY_KIB: u32 = 1 << 20;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    /// None.
    Plain,
    /// `.gz`, several members in a row allowed.
    Gzip,
    /// `.bz2`, several streams in a row allowed.
    Bzip2,
    /// `.xz`, several streams in a row allowed.
    Xz,
    /// `.zst`, several frames in a row allowed.
    Zstd,
}

/// Every format that packs, with the ending of its files' names.
const ENDINGS: [(&str, Packing); 4] = [
    ("gz", Packing::Gzip),
    ("bz2", Packing::Bzip2),
    ("xz", Packing::Xz),
    ("zst", Packing::Zstd),
];

impl Packing {
    /// What the name of `path` says.
    pub(crate) fn of(path: &Path) -> Self {
        let ending = path.extension().and_then(OsStr::to_str);
        let found = ENDINGS.iter().find(|(known, _)| Some(*known) == ending);
        found.map_or(Self::Plain, |(_, packing)| *packing)
    }

    /// What a person calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }

    /// The content of what `packed` reads, however long. Content that is cut short or fails the format's own checksum
    /// is an [`io::Error`] in the middle of reading.
    ///
    /// The caller reads about `most` bytes: a frame whose window asks for much more memory than that is an error.
    pub(crate) fn content<'a>(
        self,
        packed: impl BufRead + Send + 'a,
        most: u64,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Self::Plain => Box::new(packed),
            Self::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Self::Bzip2 => Box::new(MultiBzDecoder::new(packed)),
            Self::Xz => Box::new(XzReader::new_mem_limit(packed, true, XZ_MEMORY_KIB)),
            Self::Zstd => {
                let mut decoder = ZstdDecoder::with_buffer(packed)?;
                decoder.window_log_max(window_log(most))?;
                Box::new(decoder)
            }
        })
    }
}

/// The largest window of content of at most `most` bytes, as a power of two.
fn window_log(most: u64) -> u32 {
    let (usual, largest) = ZSTD_WINDOW_LOGS;
    (u64::BITS - most.saturating_sub(1).leading_zeros()).clamp(usual, largest)
}

/// Bytes of content that a packed byte is believed to hold.
const MOST_YIELD: u64 = 100;

/// Bytes of content that the file at `path` may hold, as far as its length tells.
pub(crate) fn most_content(path: &Path) -> io::Result<u64> {
    let length = fs::metadata(path)?.len();
    Ok(match Packing::of(path) {
        Packing::Plain => length,
        _ => length.saturating_mul(MOST_YIELD),
    })
}

/// The name of the content: `path` without the ending of a [`Packing`].
pub(crate) fn unpacked(path: &Path) -> PathBuf {
    match Packing::of(path) {
        Packing::Plain => path.to_owned(),
        _ => path.with_extension(""),
    }
}

/// Every name that the content named `path` may have: packed in one way or another.
pub(crate) fn packed(path: &Path) -> impl Iterator<Item = PathBuf> {
    let with_ending = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    };
    ENDINGS.iter().map(move |(ending, _)| with_ending(ending))
}

#[cfg(any(test, feature = "seeds"))]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"to be packed and unpacked again, again, again";

    /// `content` in `packing`, as one stream.
    pub(crate) fn stream(packing: Packing, content: &[u8]) -> Vec<u8> {
        match packing {
            Packing::Plain => content.to_vec(),
            Packing::Gzip => {
                let mut to = flate2::write::GzEncoder::new(Vec::new(), Default::default());
                to.write_all(content).unwrap();
                to.finish().unwrap()
            }
            Packing::Bzip2 => {
                let mut to = bzip2::write::BzEncoder::new(Vec::new(), Default::default());
                to.write_all(content).unwrap();
                to.finish().unwrap()
            }
            Packing::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(6);
                let mut to = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
                to.write_all(content).unwrap();
                to.finish().unwrap()
            }
            Packing::Zstd => zstd::encode_all(content, 3).unwrap(),
        }
    }

    /// [`TEXT`] in `packing`, as two streams in a row.
    pub(crate) fn twice(packing: Packing) -> Vec<u8> {
        [&TEXT[..20], &TEXT[20..]]
            .map(|part| stream(packing, part))
            .concat()
    }

    fn unpack(packing: Packing, packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        packing
            .content(packed, 1 << 20)?
            .read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn every_format_gives_its_content_back_over_several_streams() {
        for packing in ENDINGS.map(|(_, packing)| packing) {
            assert_eq!(
                unpack(packing, &twice(packing)).unwrap(),
                TEXT,
                "{packing:?}"
            );
        }
    }

    #[test]
    fn whatever_is_cut_short_is_an_error() {
        for packing in ENDINGS.map(|(_, packing)| packing) {
            let whole = twice(packing);
            for cut in [whole.len() / 4, whole.len() - 1] {
                let error = unpack(packing, &whole[..cut]).unwrap_err();
                assert_eq!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof,
                    "{packing:?} {cut}"
                );
            }
        }
    }

    #[test]
    fn a_zstd_window_is_no_larger_than_the_content_may_be() {
        // RFC 8878, 3.1.1: a magic number, a frame header without sizes, a window of 2^(10 + 18), one raw block `abc`.
        let header = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 0x19, 0x00, 0x00];
        let long = [&header, &b"abc"[..]].concat();
        let read = |most| {
            let mut content = Vec::new();
            let mut decoder = Packing::Zstd.content(long.as_slice(), most).unwrap();
            decoder.read_to_end(&mut content).map(|_| content)
        };
        let refusal = read(1 << 27).unwrap_err().to_string();
        assert!(refusal.contains("too much memory"), "{refusal}");
        assert_eq!(read(1 << 28).unwrap(), b"abc");
        let sizes = [0, 1 << 27, (1 << 27) + 1, u64::MAX];
        assert_eq!(sizes.map(window_log), [27, 27, 28, 31]);
    }

    #[test]
    fn names_say_how_a_file_is_packed() {
        let of = |name: &str| Packing::of(Path::new(name));
        assert_eq!(of("a/b.bin.xz"), Packing::Xz);
        assert_eq!(of("RC_2006-01.bz2"), Packing::Bzip2);
        assert_eq!(of("b.mat"), Packing::Plain);
        assert_eq!(of("gz"), Packing::Plain);
        assert_eq!(unpacked(Path::new("a/b.bin.xz")), Path::new("a/b.bin"));
        assert_eq!(unpacked(Path::new("a/b.bin")), Path::new("a/b.bin"));
        assert!(packed(Path::new("a/b.bin")).any(|path| path == Path::new("a/b.bin.zst")));
    }
}
