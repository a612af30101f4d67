//! `meshfold watch`: the page as it is read over TCP, what is refused, and how the command ends.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Work without end: two runs.
const ENDLESS: &str = "\
name: endless
dataset: {glyphs: {train: 600, test: 50}}
partition: {iid: {clients: 4}}
model: logistic
algorithm: {dfedavgm: {local: {steps: 20}, batch_size: 20, learning_rate: 0.01}}
rounds: 10000000
evaluate: {every: 100}
sweep: {grid: {topology: [ring, complete]}}
";

/// A program that goes on until it is interrupted, and never outlives its test.
struct Ongoing(Child);

impl Ongoing {
    /// Presses Ctrl-C; the exit code.
    fn interrupt(mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.unwrap().success());
        self.0.wait().unwrap().code()
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Two runs of `endless` that go on side by side.
pub(crate) struct EndlessRuns(Ongoing);

impl EndlessRuns {
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        sandbox.write("endless.yaml", ENDLESS);
        Self(Ongoing(sandbox.start("run endless.yaml --at-once 2")))
    }

    /// Ends them after their round, as Ctrl-C does.
    pub(crate) fn end(self) {
        assert_eq!(self.0.interrupt(), Some(130));
    }
}

/// A program that watches.
pub(crate) struct Watching {
    program: Ongoing,
    /// As in `127.0.0.1:6174`.
    pub(crate) address: String,
}

/// An answer of it.
pub(crate) struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    /// The version that the page has.
    fn tag(&self) -> &str {
        let line = self.head.lines().find(|line| line.starts_with("ETag: "));
        &line.unwrap()["ETag: ".len()..]
    }

    /// The last round of every kind of run on the page.
    pub(crate) fn rounds(&self) -> Vec<f64> {
        let data = self.body.split("id=\"report-data\">").nth(1).unwrap();
        let data: Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
        let values = data["axes"][0]["values"].as_array();
        let last = |values: &Value| values.as_array().unwrap().last().and_then(Value::as_f64);
        values.map_or_else(Vec::new, |all| all.iter().filter_map(last).collect())
    }
}

impl Watching {
    pub(crate) fn start(sandbox: &Sandbox, folder: &str) -> Self {
        let mut child = sandbox.start(&format!("watch {folder} --port 0 --every 1"));
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).expect("an address");
        let address = address.split('/').next().unwrap().to_owned();
        Self {
            program: Ongoing(child),
            address,
        }
    }

    /// What comes back for these bytes.
    fn ask(&self, request: &str) -> Reply {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        Reply {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn get(&self) -> Reply {
        self.ask(&format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", self.address))
    }

    fn get_unless(&self, tag: &str) -> Reply {
        let host = &self.address;
        self.ask(&format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\nIf-None-Match: {tag}\r\n\r\n"
        ))
    }

    /// The first page that `is` as it should be.
    pub(crate) fn wait_for(&self, is: impl Fn(&Reply) -> bool) -> Reply {
        let began = Instant::now();
        loop {
            let page = self.get();
            if is(&page) {
                return page;
            }
            assert!(began.elapsed() < Duration::from_secs(100), "{}", page.head);
            sleep(Duration::from_millis(50));
        }
    }
}

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
    let records = sandbox.records(&sandbox.runs("endless")[0]);
    let last = records.last().unwrap()["round"].as_f64().unwrap();
    let page = watching.wait_for(|page| page.rounds().contains(&last));
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
    assert_eq!(status(request), 431);
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
