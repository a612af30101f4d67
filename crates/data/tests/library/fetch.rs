//! Downloads against servers on this machine that behave well, badly and maliciously.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use meshfold_data::{
    DataError, DataFolder, FetchOptions, Fetched, FileStatus, Manifest, ManifestFile, check, fetch,
};
use sha2::{Digest, Sha256};

const CONTENT: &[u8] = b"the content of a data file, which is this sentence";

/// What a server sends for any request.
#[derive(Clone)]
enum Reply {
    /// A body with its length.
    Body(Vec<u8>),
    /// A body of which the header announces this many bytes.
    Announced(usize, Vec<u8>),
    /// A body without a length, ended by closing the connection.
    Endless(Vec<u8>),
    /// A redirect to this address.
    Redirect(String),
    /// An error of this status.
    Status(u16),
    /// Nothing at all for this long.
    Silence(Duration),
    /// A body with its length, a byte every so often.
    Trickle(Duration, Vec<u8>),
    /// Half of a body, then nothing for this long.
    Stall(Duration, Vec<u8>),
}

/// Serves `reply` to every request on a port of its own; the address of a file on it.
fn serve(reply: Reply) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), &reply);
        }
    });
    format!("http://{address}/file.gz")
}

fn answer(mut stream: TcpStream, reply: &Reply) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|text| !text.is_empty()))
    {}
    let ok = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
    let (head, body) = match reply {
        Reply::Body(body) => (
            format!("{ok}Content-Length: {}\r\n", body.len()),
            body.clone(),
        ),
        Reply::Announced(n, body) => (format!("{ok}Content-Length: {n}\r\n"), body.clone()),
        Reply::Endless(body) => (ok.to_owned(), body.clone()),
        Reply::Redirect(to) => {
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n");
            (head, Vec::new())
        }
        Reply::Status(code) => (
            format!("HTTP/1.1 {code} No\r\nContent-Length: 0\r\n"),
            Vec::new(),
        ),
        Reply::Silence(time) => {
            thread::sleep(*time);
            return;
        }
        Reply::Trickle(_, body) | Reply::Stall(_, body) => (
            format!("{ok}Content-Length: {}\r\n", body.len()),
            Vec::new(),
        ),
    };
    // A client that has seen enough hangs up; the rest of the body is then of no interest.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(b"\r\n");
    let _ = stream.write_all(&body);
    match reply {
        Reply::Trickle(time, body) => {
            for byte in body {
                if stream.write_all(&[*byte]).is_err() {
                    break;
                }
                thread::sleep(*time);
            }
        }
        Reply::Stall(time, body) => {
            let _ = stream.write_all(&body[..body.len() / 2]);
            thread::sleep(*time);
        }
        _ => {}
    }
}

/// An address at which nobody listens.
fn dead() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/file.gz", listener.local_addr().unwrap())
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A dataset of one file, `packed` as fetched and [`CONTENT`] inside.
fn manifest(packed: &[u8], urls: Vec<String>) -> Manifest {
    Manifest {
        name: "sentence".into(),
        title: "One sentence".into(),
        folder: "sentence".into(),
        homepage: "https://example.org".into(),
        licence: "none".into(),
        citation: "none".into(),
        files: vec![ManifestFile {
            name: "file.gz".into(),
            bytes: packed.len() as u64,
            sha256: Some(sha256(packed)),
            decompressed_bytes: Some(CONTENT.len() as u64),
            decompressed_sha256: Some(sha256(CONTENT)),
            urls,
            ..ManifestFile::default()
        }],
        ..Manifest::default()
    }
}

fn local() -> FetchOptions {
    FetchOptions {
        allow_http: true,
        connect_timeout: Duration::from_secs(2),
        read_timeout: Duration::from_secs(2),
        ..FetchOptions::default()
    }
}

fn run(manifest: &Manifest, folder: &Path) -> Result<Fetched, DataError> {
    fetch(manifest, &DataFolder::new(folder), &local(), &mut |_| {})
}

/// Fetches from a single bad mirror and checks that it leaves nothing behind; its reason.
fn refusal(packed: &[u8], reply: Reply) -> String {
    refusal_with(packed, reply, &local())
}

fn refusal_with(packed: &[u8], reply: Reply, options: &FetchOptions) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (manifest, place) = (
        manifest(packed, vec![serve(reply)]),
        DataFolder::new(folder.path()),
    );
    let error = fetch(&manifest, &place, options, &mut |_| {}).unwrap_err();
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "something is left behind"
    );
    let DataError::Fetch { failures, .. } = error else {
        panic!("{error}");
    };
    failures[0].reason.clone()
}

#[test]
fn a_good_file_arrives_with_progress_and_is_kept_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let packed = gzip(CONTENT);
    let manifest = manifest(&packed, vec![serve(Reply::Body(packed.clone()))]);
    let mut seen = Vec::new();
    let place = DataFolder::new(folder.path());
    let fetched = fetch(&manifest, &place, &local(), &mut |p| {
        seen.push((p.received, p.total))
    });
    let file = &fetched.unwrap().files[0];
    assert_eq!(file.url.as_ref(), Some(&manifest.files[0].urls[0]));
    assert_eq!(fs::read(&file.path).unwrap(), packed);
    let total = packed.len() as u64;
    assert_eq!(seen.last(), Some(&(total, total)));
    assert_eq!(check(&manifest, &place).files[0].status, FileStatus::Ok);
    assert_eq!(run(&manifest, folder.path()).unwrap().files[0].url, None);
    let names: Vec<_> = fs::read_dir(folder.path().join("sentence"))
        .unwrap()
        .collect();
    assert_eq!(names.len(), 1);
}

#[test]
fn dead_and_lying_mirrors_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let packed = gzip(CONTENT);
    let mut other = packed.clone();
    *other.last_mut().unwrap() ^= 1;
    let good = serve(Reply::Redirect(serve(Reply::Body(packed.clone()))));
    let urls = vec![
        dead(),
        serve(Reply::Status(404)),
        serve(Reply::Body(other)),
        good.clone(),
    ];
    let fetched = run(&manifest(&packed, urls), folder.path()).unwrap();
    assert_eq!(fetched.files[0].url, Some(good));
}

#[test]
fn a_truncated_body_is_refused() {
    let packed = gzip(CONTENT);
    let half = packed[..packed.len() / 2].to_vec();
    let reason = refusal(&packed, Reply::Announced(packed.len(), half.clone()));
    assert!(
        reason.contains(&format!("after {} of {} bytes", half.len(), packed.len())),
        "{reason}"
    );
    let reason = refusal(&packed, Reply::Endless(half));
    assert!(reason.starts_with("ended after"), "{reason}");
}

#[test]
fn a_wrong_checksum_is_refused_with_both_sums() {
    let packed = gzip(CONTENT);
    let mut other = packed.clone();
    other[12] ^= 0x10;
    let reason = refusal(&packed, Reply::Body(other.clone()));
    assert_eq!(
        reason,
        format!("SHA-256 {}, {} needed", sha256(&other), sha256(&packed))
    );
}

#[test]
fn an_oversize_body_is_cut_off_whether_announced_or_not() {
    let packed = gzip(CONTENT);
    let large = vec![7; 5 << 20];
    let reason = refusal(&packed, Reply::Body(large.clone()));
    assert_eq!(
        reason,
        format!("announces {} bytes, {} needed", large.len(), packed.len())
    );
    let reason = refusal(&packed, Reply::Endless(large));
    assert_eq!(
        reason,
        format!("sends more than the {} bytes needed", packed.len())
    );
}

#[test]
fn a_gzip_bomb_is_refused_even_under_the_right_checksum() {
    let bomb = gzip(&vec![0; 64 << 20]);
    let reason = refusal(&bomb, Reply::Body(bomb.clone()));
    assert_eq!(
        reason,
        format!(
            "the file unpacks to more than {} bytes, the most that it may hold",
            CONTENT.len()
        )
    );
}

#[test]
fn a_silent_server_is_given_up() {
    let started = std::time::Instant::now();
    let reason = refusal(&gzip(CONTENT), Reply::Silence(Duration::from_secs(60)));
    assert_eq!(reason, "no answer in 2 s");
    assert!(started.elapsed() < Duration::from_secs(20));
    let packed = gzip(CONTENT);
    let reply = Reply::Stall(Duration::from_secs(60), packed.clone());
    let reason = refusal(&packed, reply);
    assert!(reason.ends_with("bytes: silent for 2 s"), "{reason}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_server_that_trickles_is_given_up() {
    let started = std::time::Instant::now();
    let packed = gzip(CONTENT);
    let options = FetchOptions {
        grace: Duration::from_secs(1),
        bytes_per_second: packed.len() as u64,
        ..local()
    };
    assert_eq!(
        options.time_for(packed.len() as u64),
        Duration::from_secs(2)
    );
    // Never silent for long, and yet not done in the time that a file of this size may take.
    let reply = Reply::Trickle(Duration::from_millis(500), packed.clone());
    let reason = refusal_with(&packed, reply, &options);
    let told = format!(
        "not there after 2 s, slower than {} bytes a second",
        packed.len()
    );
    assert!(reason.ends_with(&told), "{reason}");
    assert!(reason.starts_with("broke off after "), "{reason}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_large_file_is_given_time_and_a_small_one_a_minute() {
    let options = FetchOptions::default();
    assert_eq!(options.time_for(0), Duration::from_secs(60));
    // CIFAR-10.
    assert_eq!(
        options.time_for(170_000_000),
        Duration::from_secs(60 + 3400)
    );
    assert!(options.time_for(u64::MAX) > Duration::from_secs(1 << 40));
}

#[test]
fn redirects_to_what_is_no_server_and_redirects_in_a_circle_are_refused() {
    let packed = gzip(CONTENT);
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), &packed).unwrap();
    let file = format!("file://{}", secret.path().display());
    let local = format!("file://localhost{}", secret.path().display());
    for to in [
        file.as_str(),
        &local,
        "ftp://127.0.0.1/file.gz",
        "gopher://127.0.0.1/file.gz",
        "data:text/plain,secret",
        "//",
        "http://",
        "javascript:alert(1)",
    ] {
        let reason = refusal(&packed, Reply::Redirect(to.into()));
        assert!(reason.len() < 250, "{to}: {reason}");
    }
    let reason = refusal(&packed, Reply::Redirect("/file.gz".into()));
    assert!(reason.contains("redirects"), "{reason}");
}

#[test]
fn what_a_killed_download_left_is_never_taken_for_the_file_and_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let packed = gzip(CONTENT);
    let home = folder.path().join("sentence");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(".fetch-k1ll3d"), &packed).unwrap();
    let manifest = manifest(&packed, vec![serve(Reply::Body(packed.clone()))]);
    let place = DataFolder::new(folder.path());
    assert_eq!(
        check(&manifest, &place).files[0].status,
        FileStatus::Missing
    );
    run(&manifest, folder.path()).unwrap();
    let names: Vec<_> = fs::read_dir(&home)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["file.gz"]);
}

#[test]
fn plain_http_is_refused_unless_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let packed = gzip(CONTENT);
    let manifest = manifest(&packed, vec![serve(Reply::Body(packed.clone()))]);
    let options = FetchOptions::default();
    let place = DataFolder::new(folder.path());
    let error = fetch(&manifest, &place, &options, &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("sentence: no mirror delivered file.gz: http://127.0.0.1"),
        "{error}"
    );
    assert!(error.contains("https"), "{error}");
}

#[test]
fn a_failed_fetch_keeps_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let packed = gzip(CONTENT);
    let home = folder.path().join("sentence");
    fs::create_dir(&home).unwrap();
    fs::write(home.join("file.gz"), b"damaged").unwrap();
    let failed = run(&manifest(&packed, vec![dead()]), folder.path()).unwrap_err();
    let told = failed.to_string();
    assert!(
        told.starts_with("sentence: no mirror delivered file.gz"),
        "{told}"
    );
    assert_eq!(fs::read(home.join("file.gz")).unwrap(), b"damaged");
    assert_eq!(fs::read_dir(&home).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = run(&manifest(&gzip(CONTENT), vec![dead()]), &file).unwrap_err();
    let expected = format!("cannot create {}", file.join("sentence").display());
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn check_tells_ok_missing_short_and_altered_apart() {
    let folder = tempfile::tempdir().unwrap();
    let packed = gzip(CONTENT);
    let manifest = manifest(&packed, vec![]);
    let home = folder.path().join("sentence");
    fs::create_dir(&home).unwrap();
    let status = || {
        check(&manifest, &DataFolder::new(folder.path())).files[0]
            .status
            .clone()
    };
    assert_eq!(status(), FileStatus::Missing);
    let path = home.join("file.gz");
    fs::write(&path, &packed[1..]).unwrap();
    let needed = packed.len() as u64;
    let found = needed - 1;
    assert_eq!(status(), FileStatus::WrongSize { found, needed });
    let mut other = packed.clone();
    other[12] ^= 0x10;
    fs::write(&path, &other).unwrap();
    assert!(matches!(status(), FileStatus::WrongChecksum { .. }));
    fs::remove_file(&path).unwrap();
    fs::write(home.join("file"), CONTENT).unwrap();
    assert_eq!(status(), FileStatus::Ok, "the same content without gzip");
    fs::write(home.join("file"), vec![7; 9 << 20]).unwrap();
    let needed = CONTENT.len() as u64;
    assert_eq!(status(), FileStatus::Overlong { needed });
    fs::write(home.join("file"), b"short").unwrap();
    assert_eq!(status(), FileStatus::WrongSize { found: 5, needed });
}

#[cfg(unix)]
#[test]
fn links_devices_and_folders_in_the_way_are_told_apart_from_missing_files() {
    use std::os::unix::fs::symlink;
    let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let packed = gzip(CONTENT);
    let manifest = manifest(&packed, vec![serve(Reply::Body(packed.clone()))]);
    let place = DataFolder::new(folder.path());
    let home = folder.path().join("sentence");
    let status = || check(&manifest, &place).files[0].status.clone();
    let unreadable = |told: &str| match status() {
        FileStatus::Unreadable { reason } => assert!(reason.contains(told), "{reason}"),
        other => panic!("{other:?}"),
    };
    // A whole dataset may lie elsewhere, and is fetched to there.
    symlink(store.path(), &home).unwrap();
    assert_eq!(status(), FileStatus::Missing);
    run(&manifest, folder.path()).unwrap();
    assert_eq!(status(), FileStatus::Ok);
    assert_eq!(fs::read(store.path().join("file.gz")).unwrap(), packed);
    // A device of the right name is no file.
    fs::remove_file(store.path().join("file.gz")).unwrap();
    symlink("/dev/zero", store.path().join("file.gz")).unwrap();
    unreadable("it is a device, not a file");
    run(&manifest, folder.path()).unwrap();
    assert_eq!(
        status(),
        FileStatus::Ok,
        "the link is replaced, not what it leads to"
    );
    fs::remove_file(&home).unwrap();
    symlink("nowhere", &home).unwrap();
    assert_eq!(status(), FileStatus::Missing);
    let refusal = run(&manifest, folder.path()).unwrap_err().to_string();
    assert!(
        refusal.ends_with("it is a link to nowhere, which is not there"),
        "{refusal}"
    );
    fs::remove_file(&home).unwrap();
    symlink("sentence", &home).unwrap();
    unreadable("symbolic link");
    let refusal = run(&manifest, folder.path()).unwrap_err().to_string();
    assert!(refusal.starts_with("cannot read "), "{refusal}");
}
