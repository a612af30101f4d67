//! `meshfold watch`: the page as it is read over TCP, what is refused, and how the command ends.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;
use crate::watching::{EndlessRuns, Reply, Watching};

/// Names and contents of all files of the runs of `name`.
fn files(sandbox: &Sandbox, name: &str) -> Vec<(String, Vec<u8>)> {
    let of = |folder: String| {
        let entries = fs::read_dir(sandbox.path(&folder)).unwrap();
        entries.map(|entry| {
            let path = entry.unwrap().path();
            (path.display().to_string(), fs::read(path).unwrap())
        })
    };
    let mut files: Vec<_> = sandbox.runs(name).into_iter().flat_map(of).collect();
    files.sort();
    files
}

#[test]
fn the_page_follows_runs_from_before_the_first_and_ctrl_c_ends_it_well() {
    let sandbox = Sandbox::new();
    let watching = Watching::start(&sandbox, "runs/endless");
    let empty = watching.get();
    assert_eq!(empty.status, 200);
    assert!(empty.body.contains("No runs yet."));
    assert!(!sandbox.path("runs").exists());

    let runs = EndlessRuns::start(&sandbox);
    let early = watching.wait_for(|page| page.rounds().len() == 2);
    let is_later = |page: &Reply| {
        let rounds = page.rounds();
        rounds.len() == 2
            && rounds
                .iter()
                .zip(early.rounds())
                .all(|(now, then)| *now > then)
    };
    let later = watching.wait_for(is_later);
    assert!(
        later
            .body
            .contains("0 of 2 runs finished. This page follows the runs.")
    );

    runs.end();
    let before = files(&sandbox, "endless");
    let last_round = |run: &String| {
        let records = sandbox.records(run);
        records.last().unwrap()["round"].as_f64().unwrap()
    };
    // The program may have read a run before its end.
    let ends: Vec<f64> = sandbox.runs("endless").iter().map(last_round).collect();
    let page = watching.wait_for(|page| {
        let rounds = page.rounds();
        ends.iter().all(|end| rounds.contains(end)) && watching.get_unless(page.tag()).status == 304
    });
    let again = watching.get_unless(page.tag());
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    assert_eq!(watching.get_unless("\"another\"").status, 200);
    assert!(files(&sandbox, "endless") == before, "it has written");
    assert_eq!(watching.program.interrupt(), Some(0));
}

#[test]
fn a_damaged_run_is_named_beside_the_others() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    sandbox.write(
        "sweep.yaml",
        &format!("{tiny}sweep: {{grid: {{seed: [1, 2]}}}}\n"),
    );
    sandbox.says("run sweep.yaml -q").ended_with(0);
    let watching = Watching::start(&sandbox, "runs/tiny");
    let whole = watching.get();
    assert!(whole.body.contains("All 2 runs are finished."));
    let damaged = &sandbox.runs("tiny")[0];
    sandbox.write(&format!("{damaged}/metrics.jsonl"), "");
    let page = watching.wait_for(|page| page.body.contains("is left out"));
    assert!(page.body.contains("1 of 2 runs finished, 1 damaged."));
    assert!(page.body.contains("metrics.jsonl is damaged"));
}

#[test]
fn what_does_not_come_from_this_machine_or_is_not_the_page_is_refused() {
    let sandbox = Sandbox::new();
    let watching = Watching::start(&sandbox, "runs");
    let own = watching.address.clone();
    let port = own.split(':').nth(1).unwrap();
    let status = |request: String| watching.ask(&request).status;
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        "localhost".to_owned(),
        format!("{own}\r\nHost: evil.example"),
    ] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(status(request), 403, "{host}");
    }
    assert_eq!(status("GET / HTTP/1.0\r\n\r\n".to_owned()), 403);
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
        assert_eq!(status(request), 200, "{host}");
    }
    for (line, refusal) in [
        ("POST /", 405),
        ("OPTIONS /", 405),
        ("GET /tiny.yaml", 404),
        ("GET /../tiny.yaml", 404),
        ("GET /%2e%2e/tiny.yaml", 404),
        ("nonsense", 400),
    ] {
        let request = format!("{line} HTTP/1.1\r\nHost: {own}\r\nContent-Length: 4\r\n\r\nbody");
        assert_eq!(status(request), refusal, "{line}");
    }
    let long = "x".repeat(20_000);
    let request = format!("GET / HTTP/1.1\r\nHost: {own}\r\nCookie: {long}\r\n\r\n");
    let refused = watching.ask(&request);
    let line = refused.head.lines().next();
    let expected = "HTTP/1.1 431 Request Header Fields Too Large";
    assert_eq!(line, Some(expected));
    let head = watching.ask(&format!("HEAD / HTTP/1.1\r\nHost: {own}\r\n\r\n"));
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(head.head.contains("frame-ancestors 'none'"));
}

#[test]
fn no_other_address_is_listened_at_and_idle_connections_keep_nobody_out() {
    let sandbox = Sandbox::new();
    let watching = Watching::start(&sandbox, "runs");
    let port = watching.address.split(':').nth(1).unwrap();
    let elsewhere = TcpStream::connect(format!("127.0.0.2:{port}")).unwrap_err();
    // Not all systems have this address.
    let nobody = [
        ErrorKind::ConnectionRefused,
        ErrorKind::AddrNotAvailable,
        ErrorKind::TimedOut,
    ];
    assert!(nobody.contains(&elsewhere.kind()), "{elsewhere}");
    let idle = [(); 4].map(|()| TcpStream::connect(&watching.address).unwrap());
    let began = Instant::now();
    assert_eq!(watching.get().status, 200);
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    drop(idle);
}

#[test]
fn a_port_in_use_and_a_file_in_place_of_a_folder_are_named() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    sandbox
        .says(&format!("watch runs --port {port}"))
        .ended_with(2)
        .complained_of(&[&port, "in use", "--port", "0 for any that is free"]);
    sandbox
        .says("watch tiny.yaml --port 0")
        .ended_with(2)
        .complained_of(&["tiny.yaml", "needed a folder with runs"]);
}
