//! Claims about pages that a real browser has drawn.

use super::figures::record_own;
use super::many_runs::{crowd, grid};
use super::*;
use serde_json::json;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that a page may take, on a machine that does other things as well.
const LIMIT: Duration = Duration::from_secs(120);

/// Chooses other colours, another axis and another band, points at a client, and waits until all is drawn again.
const READER: &str = r#"<script>(async () => {
  const drawn = () => document.documentElement.dataset.drawn;
  while (!drawn()) await new Promise((resolve) => setTimeout(resolve, 50));
  const before = getComputedStyle(document.documentElement).getPropertyValue("--group-1");
  for (const [id, value] of [["colours", "1"], ["axis", "2"], ["band", "quantiles"]]) {
    const select = document.getElementById(id);
    select.value = value;
    select.dispatchEvent(new Event("change"));
  }
  document.querySelector("svg.overlay circle").dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const after = getComputedStyle(document.documentElement).getPropertyValue("--group-1");
  document.body.dataset.recoloured = String(before !== after);
})();</script></body></html>"#;

/// The elements of `page` after its script has run.
fn drawn(page: &str, folder: &TempDir) -> String {
    let browser = meshfold_test_needs::chromium().expect("no Chromium is on the path");
    let (file, dom) = (folder.path().join("drawn.html"), folder.path().join("dom"));
    fs::write(&file, page).unwrap();
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg("--virtual-time-budget=60000")
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .stdout(fs::File::create(&dom).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait(&mut child);
    fs::read_to_string(dom).unwrap()
}

fn wait(child: &mut Child) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("the browser took longer than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[ignore = "needs Chromium"]
fn a_browser_draws_every_plot_and_follows_the_reader() {
    let folder = TempDir::new().unwrap();
    let page = grid(&folder);
    let end = page.rfind("</body>").unwrap();
    let read = page[..end].to_owned() + READER;
    let dom = drawn(&read, &folder);
    assert!(
        dom.contains("data-drawn=\"true\""),
        "the script has not come to its end"
    );
    assert!(!dom.contains("class=\"failure\""));
    for id in data(&page)["charts"].as_object().unwrap().keys() {
        let plot = dom.split(&format!("id=\"chart-{id}\"")).nth(1).expect(id);
        let plot = plot.split("</figure>").next().unwrap();
        assert!(plot.contains("class=\"main-svg\""), "{id} is not drawn");
    }
    assert!(dom.contains("data-recoloured=\"true\""));
    let accuracy = dom.split("id=\"chart-accuracy\"").nth(1).unwrap();
    assert!(
        accuracy
            .split("</figure>")
            .next()
            .unwrap()
            .contains("Epochs")
    );
    let client = dom.split("id=\"client\"").nth(1).unwrap();
    assert!(client.contains("Client 0 of ring · learning_rate 0.01"));
    let worst = dom.split("id=\"worst\"").nth(1).unwrap();
    assert_eq!(
        worst
            .split("</table>")
            .next()
            .unwrap()
            .matches("<tr>")
            .count(),
        11
    );
}

#[test]
#[ignore = "needs Chromium"]
fn a_browser_draws_the_curves_of_some_of_the_runs() {
    let folder = TempDir::new().unwrap();
    let dom = drawn(&crowd(&folder), &folder);
    assert!(dom.contains("data-drawn=\"true\""));
    assert!(!dom.contains("class=\"failure\""));
}

/// Chooses another axis and the band from the least model to the largest.
const CHOICES: &str = r#"<script>(async () => {
  while (!document.documentElement.dataset.drawn) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const [id, value] of [["axis", "1"], ["band", "range"]]) {
    const select = document.getElementById(id);
    select.value = value;
    select.dispatchEvent(new Event("change"));
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const drawn = document.getElementById("chart-own-moved").data;
  document.body.dataset.edges = JSON.stringify(drawn.filter(({ meta }) => meta === "edge").map(({ y }) => y.slice(0, 5)));
})();</script></body></html>"#;

#[test]
#[ignore = "needs Chromium"]
fn figures_of_a_method_follow_the_axis_and_the_band() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 10, 1);
    // Every second round records the figure.
    record_own(&runs[0], |round| match round % 2.0 {
        0.0 => {
            json!({ "moved": { "mean": 2.0 * round, "min": round, "max": 3.0 * round, "std": 1.0 } })
        }
        _ => json!({}),
    });
    let page = page(&runs, &folder);
    let end = page.rfind("</body>").unwrap();
    let dom = drawn(&(page[..end].to_owned() + CHOICES), &folder);
    let plot = dom.split("id=\"chart-own-moved\"").nth(1).unwrap();
    assert!(
        plot.split("</figure>")
            .next()
            .unwrap()
            .contains("Local steps")
    );
    // One band over the gaps.
    assert!(dom.contains("data-edges=\"[[null,null,2,null,4],[null,null,6,null,12]]\""));
}

/// Draws the edges of a band that reaches below 0 and of one with a gap, as on a logarithmic axis, and writes them into the page.
const BANDS: &str = r#"<script>
  const mean = { x: [0, 1, 2, 3, 4], y: [null, 0.3, 0.2, 0.4, 0.5] };
  const band = { low: [0, 0.1, -1, 0.2, 0.3], high: [0, 0.5, 2, 0.6, 0.7] };
  document.body.dataset.clamped = JSON.stringify(bandAbove(mean, band, 0.05));
  const broken = { low: [0.1, 0.2, null, 0.3, 0.4], high: [1, 2, null, 3, 4] };
  document.body.dataset.parts = JSON.stringify(bandTraces(mean, broken).map(({ y }) => y));
</script></body></html>"#;

#[test]
#[ignore = "needs Chromium"]
fn a_band_has_both_edges_or_none_on_a_logarithmic_axis() {
    let folder = TempDir::new().unwrap();
    let page = grid(&folder);
    let end = page.rfind("</body>").unwrap();
    let dom = drawn(&(page[..end].to_owned() + BANDS), &folder);
    let clamped = "{\"low\":[null,0.1,0.05,0.2,0.3],\"high\":[null,0.5,2,0.6,0.7]}";
    let parts = "[[0.1,0.2,null,null,null],[1,2,null,null,null],[null,null,null,0.3,0.4],[null,null,null,3,4]]";
    for (name, expected) in [("clamped", clamped), ("parts", parts)] {
        let expected = format!("data-{name}=\"{}\"", expected.replace('"', "&quot;"));
        assert!(dom.contains(&expected), "{expected}");
    }
}
