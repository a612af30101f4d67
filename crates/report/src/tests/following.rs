//! Claims about the page that follows runs.

use super::*;
use std::thread::sleep;
use std::time::{Duration, Instant};

fn run(folder: &TempDir, seed: u64, finished: bool) -> PathBuf {
    Fixture {
        clients: 10,
        rounds: 3,
        seed,
        finished,
        ..Fixture::default()
    }
    .write(folder.path())
}

/// The first page that is another one than `before`; a follower rests after it has drawn one.
fn newer(follower: &mut Follower, before: &LivePage) -> LivePage {
    let began = Instant::now();
    loop {
        let page = follower.page();
        if page.tag != before.tag {
            return page;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no newer page");
        sleep(Duration::from_millis(10));
    }
}

fn text(page: &LivePage) -> String {
    String::from_utf8(page.html.to_vec()).unwrap()
}

/// How the page says that the runs stand.
fn standing(page: &LivePage) -> String {
    let text = text(page);
    let (_, rest) = text.split_once("id=\"following\"").unwrap();
    rest.split_once("</p>").unwrap().0.to_owned()
}

#[test]
fn a_folder_without_runs_is_waited_for() {
    let folder = TempDir::new().unwrap();
    let experiment = folder.path().join(Fixture::default().name);
    let mut follower = Follower::new(&experiment, 2);
    let empty = follower.page();
    assert!(text(&empty).contains("No runs yet."));
    assert!(standing(&empty).contains("This page waits for the first run."));
    assert!(!experiment.exists());
    run(&folder, 1, false);
    let begun = newer(&mut follower, &empty);
    assert!(text(&begun).contains("<section id=\"accuracy\">"));
    assert!(standing(&begun).contains("0 of 1 runs finished. This page follows the runs."));
}

#[test]
fn a_page_is_drawn_anew_only_when_something_has_changed() {
    let folder = TempDir::new().unwrap();
    let run = run(&folder, 1, false);
    let mut follower = Follower::new(run.parent().unwrap(), 2);
    let first = follower.page();
    let files = || fs::read_dir(&run).unwrap().count();
    let before = files();
    fs::write(run.join("checkpoint.safetensors"), "weights").unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        assert_eq!(follower.page().tag, first.tag);
        sleep(Duration::from_millis(50));
    }
    assert_eq!(files(), before + 1);

    let metrics = run.join("metrics.jsonl");
    let records = fs::read_to_string(&metrics).unwrap();
    let torn = format!("{records}{{\"round\":2,\"test_acc");
    fs::write(&metrics, &torn).unwrap();
    let torn = newer(&mut follower, &first);
    assert_eq!(data(&text(&torn))["axes"], data(&text(&first))["axes"]);
    let last = records.lines().last().unwrap();
    let next = last.replacen("\"round\":1,", "\"round\":2,", 1);
    assert_ne!(next, last);
    fs::write(&metrics, format!("{records}{next}\n")).unwrap();
    let whole = newer(&mut follower, &torn);
    assert_eq!(data(&text(&whole))["axes"][0]["values"][0][2], 2.0);
}

#[test]
fn the_page_says_how_the_runs_stand_and_when_they_are_over() {
    let folder = TempDir::new().unwrap();
    let first = run(&folder, 1, true);
    let second = run(&folder, 2, false);
    let experiment = first.parent().unwrap();
    let mut follower = Follower::new(experiment, 2);
    let going_on = follower.page();
    assert!(standing(&going_on).contains("1 of 2 runs finished."));
    assert!(!standing(&going_on).contains("data-over"));

    run(&folder, 2, true);
    let over = newer(&mut follower, &going_on);
    assert!(standing(&over).contains("data-over"));
    assert!(standing(&over).contains("All 2 runs are finished. This page asks for news no longer"));

    fs::remove_file(second.join("metrics.jsonl")).unwrap();
    let damaged = newer(&mut follower, &over);
    assert!(standing(&damaged).contains("1 of 2 runs finished, 1 damaged."));
    assert!(text(&damaged).contains("metrics.jsonl is missing"));
    fs::remove_dir_all(&second).unwrap();
    let alone = newer(&mut follower, &damaged);
    assert!(standing(&alone).contains("The run is finished."));
}

#[test]
fn a_sweep_is_not_over_before_its_last_run_has_begun() {
    let folder = TempDir::new().unwrap();
    let run = run(&folder, 1, true);
    let experiment = run.parent().unwrap();
    let id = run.file_name().unwrap().to_str().unwrap();
    sweep_order::note(experiment, &[id, "0123456789abcdef"]).unwrap();
    let page = Follower::new(experiment, 2).page();
    assert!(standing(&page).contains("1 of 2 runs finished."));
    assert!(!standing(&page).contains("data-over"));
}

#[test]
fn only_a_page_that_follows_runs_may_ask_for_a_newer_one() {
    let folder = TempDir::new().unwrap();
    let run = run(&folder, 1, true);
    let followed = text(&Follower::new(&run, 7).page());
    assert!(followed.contains("; connect-src 'self'\"") && followed.contains("data-every=\"7\""));
    let written = page(&[run], &folder);
    assert!(!written.contains("connect-src") && !written.contains("fetch("));
}
