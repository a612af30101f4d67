//! The plotting library's script, packed: inside a page, or in a file that the pages of a sweep share.

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderStringWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use plotly::Plot;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use meshfold_experiment::files::sha256::sha256;
use meshfold_experiment::files::whole_file::write_atomically;

/// Where a page finds the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// In the page, which is then complete in itself.
    Inside,
    /// In a file of this name in the folder above that of the page.
    Above(String),
}

impl Script {
    /// Puts the script into `folder`, for pages in the folders below it. The name of the file has a digest of what it holds,
    /// so that pages of other versions keep theirs.
    ///
    /// # Errors
    /// What the system says if the file cannot be written.
    pub(super) fn shared(folder: &Path) -> io::Result<Self> {
        static NAME: OnceLock<String> = OnceLock::new();
        let name = NAME.get_or_init(|| format!("plotly-{}.js", &sha256(packed().as_bytes())[..12]));
        let content = [BEFORE, packed(), AFTER];
        let length: usize = content.iter().map(|part| part.len()).sum();
        let path = folder.join(name);
        if !fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == length as u64) {
            write_atomically(&path, content.concat().as_bytes())?;
        }
        Ok(Self::Above(name.clone()))
    }
}

/// What stands before and after the packed script in the file.
const BEFORE: &str = "// plotly.js (MIT licence), packed, for the pages of the runs below this folder.\nwindow.plotlyPacked = \"";
const AFTER: &str = "\";\n";

/// Bytes that the packed script has room in.
const ROOM: usize = 2_000_000;
/// The best takes twice the time for one per cent.
const LEVEL: Compression = Compression::new(5);

/// The script of plotly.js, compressed with gzip and written in base64: 1.9 MB instead of 4.7 MB.
///
/// The page's script unpacks it in the browser, so no request is made for it. The library's licence notice is inside.
pub(super) fn packed() -> &'static str {
    static PACKED: OnceLock<String> = OnceLock::new();
    PACKED.get_or_init(|| {
        let scripts = Plot::offline_js_sources();
        let text = EncoderStringWriter::from_consumer(String::with_capacity(ROOM), &STANDARD);
        let mut encoder = GzEncoder::new(text, LEVEL);
        encoder
            .write_all(first(&scripts).as_bytes())
            .expect("a String takes any text");
        encoder
            .finish()
            .expect("a String takes any text")
            .into_inner()
    })
}

/// The first of the two scripts that the crate offers; the other one typesets formulas, which no plot here has.
fn first(scripts: &str) -> &str {
    let start = scripts.find('>').map_or(0, |tag| tag + 1);
    let end = scripts.find("</script>").unwrap_or(scripts.len());
    &scripts[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use flate2::read::GzDecoder;
    use std::io::Read;

    #[test]
    fn unpacking_gives_the_whole_library() {
        let mut script = String::new();
        let bytes = STANDARD.decode(packed()).unwrap();
        GzDecoder::new(bytes.as_slice())
            .read_to_string(&mut script)
            .unwrap();
        assert!(script.len() > 3_000_000 && script.contains("plotly.js v"));
        assert!(!script.contains("MathJax-script") && !script.contains("</script>"));
        assert!(packed().len() < ROOM, "{}", packed().len());
    }

    #[test]
    fn a_shared_script_is_written_once_and_mended_if_it_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let Script::Above(name) = Script::shared(folder.path()).unwrap() else {
            panic!("it is no part of a page")
        };
        let path = folder.path().join(&name);
        let whole = fs::read(&path).unwrap();
        let written = || fs::metadata(&path).unwrap().modified().unwrap();
        let before = written();
        Script::shared(folder.path()).unwrap();
        assert_eq!(written(), before);
        fs::write(&path, &whole[..1000]).unwrap();
        Script::shared(folder.path()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
