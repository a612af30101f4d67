//! The page of `meshfold watch` in a real browser.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use meshfold_test_needs::{Test, chromium, test};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::watching::{EndlessRuns, Watching};

/// The longest that anything may take, on a machine that does other things as well.
const LIMIT: Duration = Duration::from_secs(120);

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    let missing = chromium().is_none().then_some("no Chromium");
    let tests = [
        test!(a_page_that_is_open_shows_new_rounds_and_keeps_what_the_reader_has_set),
        test!(a_page_says_that_its_runs_are_over_and_that_nobody_answers),
    ];
    tests.map(|test| test.unless(missing)).into()
}

/// A browser with one page, which is told what to do through pipes (the DevTools protocol).
struct Browser {
    child: Child,
    orders: File,
    answers: Receiver<Value>,
    /// Orders given.
    given: u64,
    /// Names the page in orders.
    page: Option<String>,
}

impl Browser {
    /// Opens the page at `address`.
    fn open(sandbox: &Sandbox, address: &str) -> Self {
        let program = chromium().unwrap();
        let [orders, answers] = ["orders", "answers"].map(|name| {
            let pipe = sandbox.path(name);
            let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
            assert!(made.success());
            pipe
        });
        let child = Command::new("sh")
            .arg("-c")
            .arg("exec \"$0\" \"$@\" 3<\"$ORDERS\" 4>\"$ANSWERS\"")
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-pipe",
            ])
            .arg(format!(
                "--user-data-dir={}",
                sandbox.path("profile").display()
            ))
            .env("ORDERS", &orders)
            .env("ANSWERS", &answers)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let orders = OpenOptions::new().write(true).open(orders).unwrap();
        let answered = BufReader::new(File::open(answers).unwrap());
        let (sender, answers) = channel();
        spawn(move || {
            for answer in answered.split(0) {
                sender
                    .send(serde_json::from_slice(&answer.unwrap()).unwrap())
                    .ok();
            }
        });
        let mut browser = Self {
            child,
            orders,
            answers,
            given: 0,
            page: None,
        };
        let made = browser.order(
            "Target.createTarget",
            json!({"url": format!("http://{address}/")}),
        );
        let attach = json!({"targetId": made["targetId"], "flatten": true});
        let attached = browser.order("Target.attachToTarget", attach);
        browser.page = attached["sessionId"].as_str().map(str::to_owned);
        browser
    }

    fn order(&mut self, method: &str, params: Value) -> Value {
        self.given += 1;
        let mut order = json!({"id": self.given, "method": method, "params": params});
        if let Some(page) = &self.page {
            order["sessionId"] = json!(page);
        }
        self.orders
            .write_all(format!("{order}\0").as_bytes())
            .unwrap();
        loop {
            let answer = self.answers.recv_timeout(LIMIT).unwrap();
            if answer["id"] == self.given {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The value of a script on the page.
    fn value(&mut self, script: &str) -> Value {
        let asked = json!({"expression": script, "returnByValue": true});
        let answer = self.order("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer}");
        answer["result"]["value"].clone()
    }

    fn wait_until(&mut self, script: &str) {
        let began = Instant::now();
        while self.value(script) != true {
            assert!(began.elapsed() < LIMIT, "not in time: {script}");
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What the test asks the page.
const QUESTIONS: &str = r#"
const data = () => JSON.parse(document.getElementById("report-data").textContent);
const tag = () => document.getElementById("following").dataset.tag;
const plot = () => document.getElementById("chart-accuracy");
// Rounds of the last point that is drawn, as the axis counts local steps.
const drawn = () => Math.max(...plot().data.flatMap(({ x }) => x));
const hidden = () => plot().data.filter(({ legendgroup, visible }) => legendgroup === "g0" && visible !== false).length === 0;
const choose = (id, value) => {
  const control = document.getElementById(id);
  if (control.type === "checkbox") control.checked = value;
  else control.value = value;
  control.dispatchEvent(new Event(control.type === "search" ? "input" : "change"));
};
"#;

fn a_page_that_is_open_shows_new_rounds_and_keeps_what_the_reader_has_set() {
    let sandbox = Sandbox::new();
    let watching = Watching::start(&sandbox, "runs/endless");
    let mut browser = Browser::open(&sandbox, &watching.address);
    // There is no document yet while a page is on its way.
    browser.wait_until("document.documentElement?.dataset.drawn === 'true'");
    browser.value(QUESTIONS);
    assert_eq!(browser.value("data().groups.length"), 0);
    let runs = EndlessRuns::start(&sandbox);
    // The page that had no run becomes one that has, without being loaded again.
    browser.wait_until(
        "data().groups.length === 2 && data().axes.length > 1 && plot()?.data?.length > 0",
    );

    browser.value("choose('axis', '1'); choose('theme', 'dark'); choose('log-y', true)");
    browser.value("document.querySelector('.chip[data-groups=\"0\"]').click()");
    browser.value("document.querySelector('details.more').open = true; scrollTo(0, 300)");
    browser.wait_until("hidden()");
    let before = browser.value("[tag(), drawn()]");
    let is_newer = format!("tag() !== {} && drawn() > {}", before[0], before[1]);
    browser.wait_until(&is_newer);
    let kept = "[document.getElementById('axis').value, plot().layout.xaxis.title.text, plot().layout.yaxis.type,
        document.getElementById('theme').value, document.getElementById('dark').media,
        document.querySelector('.chip[data-groups=\"0\"]').getAttribute('aria-pressed'), hidden(),
        document.querySelector('details.more').open, scrollY, document.querySelectorAll('.failure').length]";
    assert_eq!(
        browser.value(kept),
        json!([
            "1",
            "Local steps of all clients",
            "log",
            "dark",
            "all",
            "false",
            true,
            true,
            300,
            0
        ])
    );
    runs.end();
}

fn a_page_says_that_its_runs_are_over_and_that_nobody_answers() {
    let sandbox = Sandbox::new();
    sandbox.says("run tiny.yaml -q").ended_with(0);
    let watching = Watching::start(&sandbox, "runs/tiny");
    let mut browser = Browser::open(&sandbox, &watching.address);
    let words = "document.getElementById('following')?.textContent ?? ''";
    browser.wait_until(&format!("({words}).startsWith('The run is finished.')"));
    assert_eq!(
        browser.value("'over' in document.getElementById('following').dataset"),
        true
    );

    let waiting = Watching::start(&sandbox, "runs/none");
    browser.order(
        "Page.navigate",
        json!({"url": format!("http://{}/", waiting.address)}),
    );
    browser.wait_until(&format!("({words}).startsWith('This page waits')"));
    drop(waiting);
    browser.wait_until("'silent' in document.getElementById('following').dataset");
}
