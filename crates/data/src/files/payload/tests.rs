//! Tests of contents.

use super::*;
use std::fs::File;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    gather(content(path, limit)?, limit)
}

fn gzip_file(folder: &Path, content: &[u8]) -> std::path::PathBuf {
    let path = folder.join("content.gz");
    let mut encoder = GzEncoder::new(File::create(&path).unwrap(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap();
    path
}

#[test]
fn an_overlong_content_stops_one_byte_past_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let bomb = gzip_file(folder.path(), &vec![0; 10 << 20]);
    assert_eq!(read(&bomb, 100).unwrap().len(), 101);
    assert_eq!(digest(content(&bomb, 100).unwrap(), 100).unwrap().0, 101);
}

#[test]
fn memory_grows_with_what_is_read_and_not_with_the_limit() {
    let few = gather(&b"few"[..], u64::MAX).unwrap();
    assert_eq!(few, b"few");
    assert!(few.capacity() as u64 <= ROOM);
    let many = vec![7; 3 << 20];
    assert_eq!(gather(many.as_slice(), 3 << 20).unwrap(), many);
}

#[test]
fn what_is_expected_is_never_moved_and_what_is_more_is_seen() {
    let content = vec![7; 3 << 20];
    let exact = gather_expected(content.as_slice(), 3 << 20).unwrap();
    assert_eq!(exact.capacity(), (3 << 20) + 1);
    assert_eq!(exact, content);
    assert_eq!(gather_expected(content.as_slice(), 9).unwrap().len(), 10);
}

#[test]
fn pieces_are_whole_but_the_last_and_summed_as_one() {
    let content: Vec<u8> = (0..250).collect();
    let pieces = |limit| {
        let mut seen = Vec::new();
        let see = |place, piece: &[u8]| {
            assert_eq!(place * 100, seen.len());
            seen.extend_from_slice(piece);
        };
        let found = in_pieces(content.as_slice(), limit, 100, see).unwrap();
        assert_eq!(found, (seen.len() as u64, sha256(&seen)));
        seen
    };
    assert_eq!(pieces(250), content);
    assert_eq!(pieces(200), content[..201]);
}

#[test]
fn a_stream_gives_what_is_allowed_and_then_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = gzip_file(folder.path(), &[7; 200]);
    let mut seen = Vec::new();
    let error = open(&path, 100).unwrap().read_to_end(&mut seen);
    assert_eq!(seen, [7; 100]);
    let fault = fault("sevens", &path, 100, error.unwrap_err()).to_string();
    assert!(
        fault.contains("at byte 100: the file unpacks to more than 100 bytes"),
        "{fault}"
    );
    let exact = open(&path, 200).unwrap().read_to_end(&mut Vec::new());
    assert_eq!(exact.unwrap(), 200);
}

#[test]
fn a_truncated_gzip_is_an_error_and_never_a_short_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = gzip_file(folder.path(), b"twelve bytes");
    assert_eq!(read(&path, 12).unwrap(), b"twelve bytes");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
    let fault = fault("twelve", &path, 0, read(&path, 12).unwrap_err()).to_string();
    assert!(fault.contains("at byte 0: damaged gzip data"), "{fault}");
    let piece = open(&path, 12).unwrap().read_to_end(&mut Vec::new());
    let error = piece.unwrap_err();
    assert!(
        error.to_string().starts_with("damaged gzip data: "),
        "{error}"
    );
    let same = super::fault("twelve", &path, 0, error).to_string();
    assert_eq!(same, fault);
}

#[test]
fn the_digest_is_sha_256() {
    // FIPS 180-2, appendix B.1; RFC 1321, appendix A.5.
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256(b"abc"), abc);
    let folder = tempfile::tempdir().unwrap();
    let path = gzip_file(folder.path(), b"abc");
    assert_eq!(
        digest(content(&path, 3).unwrap(), 3).unwrap(),
        (3, abc.to_owned())
    );
    let plain = folder.path().join("plain");
    std::fs::write(&plain, b"abc").unwrap();
    assert_eq!(file_digest(&plain, 1).unwrap().bytes, 2);
    let found = file_digest(&plain, 3).unwrap();
    assert_eq!((found.bytes, found.sha256.as_str()), (3, abc));
    assert_eq!(found.md5, "900150983cd24fb0d6963f7d28e17f72");
}
