//! Claims about whole pages.

use super::*;
use crate::fixture::Fixture;
use meshfold_experiment::results::sweep_order;
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

mod browser;
mod changing;
mod figures;
mod following;
mod left_out;
mod many_runs;
mod order;
mod other_data;
mod shared_script;
mod theorem;
mod walkers;

const THREE_REGULAR: &str = "{regular: {degree: 3}}";
const COMPLETE: &str = "{complete: {}}";

/// Writes the page about the runs in these folders, and returns what it leaves out.
fn write_report(runs: &[PathBuf], out: &Path) -> Result<Vec<LeftOut>, ReportError> {
    let gathered = Gathered::of(runs)?;
    write_gathered(&gathered, out)?;
    Ok(gathered.left_out)
}

fn page(runs: &[PathBuf], folder: &TempDir) -> String {
    let out = folder.path().join("report.html");
    write_report(runs, &out).unwrap();
    fs::read_to_string(out).unwrap()
}

fn sweep(runs: &Path, clients: usize, seeds: u64) -> Vec<PathBuf> {
    let fixture = |topology, seed| {
        Fixture {
            clients,
            topology,
            seed,
            ..Fixture::default()
        }
        .write(runs)
    };
    let overlays = [Fixture::default().topology, THREE_REGULAR, COMPLETE];
    overlays
        .into_iter()
        .flat_map(|topology| (1..=seeds).map(move |seed| (topology, seed)))
        .map(|(t, s)| fixture(t, s))
        .collect()
}

/// Changes a file of `run`.
fn edit(run: &Path, file: &str, change: impl Fn(String) -> String) {
    let path = run.join(file);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, change(text)).unwrap();
}

/// The data that the page's script draws from.
fn data(page: &str) -> Value {
    let start = page.split_once("id=\"report-data\">").unwrap().1;
    serde_json::from_str(start.split_once("</script>").unwrap().0).unwrap()
}

/// The sentences at the top.
fn headline(page: &str) -> &str {
    page.split_once("class=\"headline\">")
        .unwrap()
        .1
        .split_once("</p>")
        .unwrap()
        .0
}

/// The page without the packed plotting library.
fn own_part(page: &str) -> String {
    let (before, rest) = page.split_once("id=\"plotly-packed\">").unwrap();
    before.to_owned() + rest.split_once("</script>").unwrap().1
}

#[test]
fn a_page_about_no_runs_says_so() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("report.html");
    write_gathered(&Gathered::default(), &out).unwrap();
    assert_eq!(headline(&fs::read_to_string(out).unwrap()), "0 runs.");
}

#[test]
fn a_sweep_has_every_section_and_every_plot() {
    let folder = TempDir::new().unwrap();
    let page = page(&sweep(folder.path(), 20, 1), &folder);
    for id in [
        "accuracy",
        "overlays",
        "table",
        "course",
        "clients",
        "structure",
        "partition",
        "configuration",
    ] {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    let data = data(&page);
    let charts = data["charts"].as_object().unwrap();
    let ids: Vec<&str> = charts.keys().map(String::as_str).collect();
    assert_eq!(
        ids,
        [
            "accuracy",
            "loss",
            "consensus",
            "spread",
            "client_boxes",
            "degrees",
            "spectrum",
            "partition_0"
        ]
    );
    for (id, chart) in charts {
        assert!(page.contains(&format!("id=\"chart-{id}\"")), "{id}");
        assert!(
            chart["layout"].is_object()
                && chart["data"]
                    .as_array()
                    .is_some_and(|traces| !traces.is_empty()),
            "{id}"
        );
    }
    let axes: Vec<&str> = data["axes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|axis| axis["key"].as_str().unwrap())
        .collect();
    assert_eq!(
        axes,
        ["rounds", "steps", "epochs", "examples", "bytes", "clock"]
    );
    // 180 000 examples a round, of which the clients hold 60 000.
    assert_eq!(data["axes"][2]["values"][0][1], 3.0);
    assert_eq!(page.matches("<svg class=\"overlay\"").count(), 3);
    assert_eq!(page.matches("class=\"chip\"").count(), 3);
    assert!(
        page.contains("After 30 rounds the models reach a mean test accuracy of 9"),
        "{}",
        headline(&page)
    );
    assert!(
        headline(&page).contains("with complete (λ\u{a0}=\u{a0}0), ")
            && headline(&page).contains("one seed shows nothing about how sure that is.")
    );
    assert!(
        headline(&page).contains("The traffic of complete is 9.5 times that of ring"),
        "{}",
        headline(&page)
    );
}

#[test]
fn nothing_is_asked_of_the_network() {
    let folder = TempDir::new().unwrap();
    let page = own_part(&page(&sweep(folder.path(), 10, 1), &folder));
    for address in [
        "http:",
        "https:",
        "//cdn",
        "src=",
        "href=",
        "url(",
        "@import",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ] {
        assert!(!page.contains(address), "{address}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn no_path_of_the_machine_is_told() {
    let folder = TempDir::new().unwrap();
    let page = own_part(&page(&sweep(folder.path(), 10, 1), &folder));
    assert!(!page.contains(&*folder.path().to_string_lossy()));
}

#[test]
fn a_name_cannot_break_out() {
    let folder = TempDir::new().unwrap();
    let name = "<script>alert(1)<|script> & \"q\" '";
    let page = page(
        &[Fixture {
            name,
            clients: 10,
            rounds: 2,
            ..Fixture::default()
        }
        .write(folder.path())],
        &folder,
    );
    assert!(!page.contains("<script>alert"));
    assert!(page.contains("<h1>&lt;script&gt;alert(1)&lt;|script&gt; &amp; &quot;q&quot; '</h1>"));
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script>").count(), 3);
    data(&page);
}

#[test]
fn runs_that_differ_in_their_seed_only_are_one_line() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 20, 3);
    let page = page(&runs, &folder);
    let data = data(&page);
    let labels: Vec<&str> = data["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["ring", "3-regular", "complete"]);
    assert!(page.contains("seeds 1, 2, 3"));
    let means: Vec<f64> = runs[..3].iter().map(|run| last_mean(run)).collect();
    let drawn = data["charts"]["accuracy"]["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|trace| trace["name"] == "ring")
        .unwrap();
    let drawn = drawn["y"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .as_f64()
        .unwrap();
    assert!(
        (drawn - means.iter().sum::<f64>() / 3.0).abs() < 1e-5,
        "{drawn} {means:?}"
    );
}

fn last_mean(run: &Path) -> f64 {
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let last: Value = serde_json::from_str(metrics.lines().last().unwrap()).unwrap();
    last["test_accuracy"]["mean"].as_f64().unwrap()
}

#[test]
fn other_settings_than_the_overlay_name_the_groups() {
    let folder = TempDir::new().unwrap();
    let run = |learning_rate| {
        Fixture {
            clients: 10,
            rounds: 3,
            learning_rate,
            ..Fixture::default()
        }
        .write(folder.path())
    };
    let page = page(&[run(0.01), run(0.1)], &folder);
    let labels = data(&page)["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["label"].clone())
        .collect::<Vec<_>>();
    assert_eq!(labels, ["learning_rate 0.01", "learning_rate 0.1"]);
    assert!(
        headline(&page).contains("points lie between learning_rate 0.01 and learning_rate 0.1;")
    );
}

#[test]
fn quantised_runs_are_held_against_the_same_in_full() {
    let folder = TempDir::new().unwrap();
    let run = |bits, rounds| {
        Fixture {
            clients: 10,
            rounds,
            bits,
            ..Fixture::default()
        }
        .write(folder.path())
    };
    let (full, eight) = (run(None, 30), run(Some(8), 30));
    let shown = page(&[full.clone(), eight.clone()], &folder);
    let section = shown.split("id=\"quantised\"").nth(1).expect("the section");
    let line = section.split("<tbody>").nth(1).unwrap();
    let line = line.split("</tr>").next().unwrap();
    // The made-up runs come to their targets in the same rounds: ϱ is 1, and 8 bits are below 32 − 64/159010.
    for cell in [
        "≥ 65.0\u{a0}%",
        "1.000",
        "<td>8</td>",
        "32.00",
        "<td>yes</td>",
    ] {
        assert!(line.contains(cell), "{cell}: {line}");
    }
    for runs in [vec![full], vec![eight]] {
        assert!(!page(&runs, &folder).contains("id=\"quantised\""));
    }
}

#[test]
fn a_thousand_clients_stay_light() {
    let folder = TempDir::new().unwrap();
    let run = Fixture {
        clients: 1000,
        topology: THREE_REGULAR,
        ..Fixture::default()
    }
    .write(folder.path());
    let page = page(&[run], &folder);
    assert!(own_part(&page).len() < 300_000, "{}", own_part(&page).len());
    assert!(page.len() < 2_400_000, "{}", page.len());
}

#[test]
fn an_unfinished_run_is_reported_as_such() {
    let folder = TempDir::new().unwrap();
    let whole = Fixture {
        clients: 10,
        rounds: 8,
        ..Fixture::default()
    }
    .write(folder.path());
    let broken = Fixture {
        clients: 10,
        rounds: 8,
        seed: 2,
        finished: false,
        ..Fixture::default()
    }
    .write(folder.path());
    let metrics = broken.join("metrics.jsonl");
    let torn = fs::read_to_string(&metrics).unwrap() + "{\"round\":5,\"test_ac";
    fs::write(&metrics, torn).unwrap();
    fs::write(
        broken.join("summary.json"),
        "{\"status\": \"failed\", \"error\": \"row 3 is <not> finite\"}",
    )
    .unwrap();
    let page = page(&[whole, broken], &folder);
    assert!(page.contains("not finished: its last evaluation is of round 4 of 8"));
    assert!(page.contains("it is left out of the means"));
    assert!(page.contains("it failed: row 3 is &lt;not&gt; finite"));
}

#[test]
fn a_run_that_has_just_begun_has_a_page() {
    let folder = TempDir::new().unwrap();
    let run = Fixture {
        clients: 10,
        finished: false,
        ..Fixture::default()
    }
    .write(folder.path());
    for file in [
        "metrics.jsonl",
        "clients.parquet",
        "overlay.json",
        "overlay.edges",
        "partition.csv",
        "summary.json",
    ] {
        fs::remove_file(run.join(file)).unwrap();
    }
    let page = page(&[run], &folder);
    assert!(
        page.contains("No evaluation is recorded yet.")
            && page.contains("<section id=\"configuration\">")
    );
    assert!(
        !page.contains("<section id=\"overlays\">") && !page.contains("<section id=\"partition\">")
    );
}

#[test]
fn a_folder_of_runs_stands_for_them_and_none_counts_twice() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 10, 1);
    let page = page(
        &[folder.path().join("quickstart"), runs[1].clone()],
        &folder,
    );
    assert_eq!(data(&page)["groups"].as_array().map(Vec::len), Some(3));
}

#[test]
fn the_page_is_replaced_whole() {
    let folder = TempDir::new().unwrap();
    let run = Fixture {
        clients: 10,
        rounds: 2,
        ..Fixture::default()
    }
    .write(folder.path());
    let out = folder.path().join("deep/er/report.html");
    write_report(std::slice::from_ref(&run), &out).unwrap();
    write_report(&[run], &out).unwrap();
    let left: Vec<_> = fs::read_dir(out.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["report.html"]);
}

#[test]
fn leftovers_of_killed_processes_are_removed_when_a_report_is_written() {
    let folder = TempDir::new().unwrap();
    let run = Fixture::default().write(folder.path());
    let sweep = run.parent().unwrap().to_owned();
    let half = sweep.join(".meshfold-unfinished-a1b2c3");
    fs::write(&half, "half a report").unwrap();
    write_report(std::slice::from_ref(&run), &sweep.join("report.html")).unwrap();
    assert!(!half.exists());
    assert!(sweep.join("report.html").exists());
}

#[test]
fn weights_that_were_drawn_have_no_spectrum_of_others() {
    let folder = TempDir::new().unwrap();
    let runs = sweep(folder.path(), 10, 1);
    let has_spectrum = |runs: &[PathBuf]| {
        let data = data(&page(runs, &folder));
        data["charts"].as_object().unwrap().contains_key("spectrum")
    };
    assert!(has_spectrum(&runs));
    for run in &runs {
        edit(run, "config.yaml", |text| {
            text.replace("metropolis_hastings: {}", "random: {}")
        });
    }
    assert!(!has_spectrum(&runs));
    assert!(
        page(&runs, &folder).contains("The eigenvalues of these mixing matrices are not computed.")
    );
}
