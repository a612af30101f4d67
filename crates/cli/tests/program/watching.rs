//! Starting `meshfold run` and `meshfold watch`, and reading the answers of the latter.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
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
pub(crate) struct Ongoing(Child);

impl Ongoing {
    /// Presses Ctrl-C; the exit code.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
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
    pub(crate) program: Ongoing,
    /// As in `127.0.0.1:6174`.
    pub(crate) address: String,
}

/// An answer of it.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// The version that the page has.
    pub(crate) fn tag(&self) -> &str {
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
    pub(crate) fn ask(&self, request: &str) -> Reply {
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

    pub(crate) fn get(&self) -> Reply {
        self.ask(&format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", self.address))
    }

    pub(crate) fn get_unless(&self, tag: &str) -> Reply {
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
