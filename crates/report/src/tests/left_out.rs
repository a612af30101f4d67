//! Claims about runs that are damaged or missing: they are left out and named, and the others are reported.

use super::*;

/// What is done to a file.
type Spoil = fn(&Path);

/// Ways in which any file can be spoilt.
const WAYS: [(&str, Spoil); 6] = [
    ("cut off", |file| {
        let bytes = fs::read(file).unwrap();
        let half = bytes.len() / 2;
        // A table that ends with a whole line cannot be told from a shorter one.
        let end = half + usize::from(bytes[half - 1] == b'\n');
        fs::write(file, &bytes[..end]).unwrap();
    }),
    ("empty", |file| fs::write(file, "").unwrap()),
    ("gone", |file| fs::remove_file(file).unwrap()),
    ("a folder", |file| {
        fs::remove_file(file).unwrap();
        fs::create_dir(file).unwrap();
    }),
    ("other bytes", |file| {
        fs::write(file, [0xff, 0xfe, 0, 7]).unwrap();
    }),
    ("unreadable", |file| {
        // The superuser may read everything, so permissions cannot stand for this.
        fs::remove_file(file).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(file, file).unwrap();
    }),
];

/// Every file of a finished run, and contents of it that are well formed and cannot be.
const FILES: [(&str, &[&str]); 8] = [
    ("config.yaml", &["- 1\n", "name: a\nrounds: 5\n"]),
    ("environment.json", &["[]", "3"]),
    (
        "metrics.jsonl",
        &[
            "{\"round\": \"one\"}\n",
            "{\"round\": 99}\n",
            "[]\n",
            "{\"round\": 3, \"test_accuracy\": {\"mean\": 7}}\n",
        ],
    ),
    ("clients.parquet", &["PAR1PAR1"]),
    (
        "overlay.json",
        &[
            "{\"nodes\": -3}",
            "{}",
            "[10, 10]",
            "{\"nodes\": 10, \"edges\"",
        ],
    ),
    ("overlay.edges", &["0 1\n", "0 1\n0 10\n", "a b\n"]),
    (
        "partition.csv",
        &[
            "client,label,examples\n0,1,-5\n",
            "client,label,examples\n10,1,5\n",
            "who,what\n",
        ],
    ),
    (
        "summary.json",
        &[
            "[]",
            "{\"parameters\": \"many\"}",
            "{\"status\": \"failed\"}",
        ],
    ),
];

fn three_runs(folder: &TempDir) -> Vec<PathBuf> {
    let topologies = [Fixture::default().topology, THREE_REGULAR, "{star: {}}"];
    let run = |topology| Fixture {
        clients: 10,
        rounds: 3,
        topology,
        ..Fixture::default()
    };
    let runs = topologies.map(|topology| run(topology).write(folder.path()));
    runs.to_vec()
}

/// Requires that the second of three runs is left out because of `file`, and that its folder alone gives no page.
#[track_caller]
fn assert_left_out(folder: &TempDir, runs: &[PathBuf], file: &str, way: &str) {
    let out = folder.path().join("report.html");
    let left_out = write_report(runs, &out).unwrap_or_else(|error| panic!("{file} {way}: {error}"));
    let [found] = left_out.as_slice() else {
        panic!("{file} {way}: {left_out:?}")
    };
    let said = found.to_string();
    let id = runs[1].file_name().unwrap().to_string_lossy().into_owned();
    assert!(
        found.is_damaged() && said.contains(&id),
        "{file} {way}: {said}"
    );
    assert!(
        said.contains(file) && said.contains("with --again"),
        "{file} {way}: {said}"
    );
    assert!(said.contains("seed 1"), "{file} {way}: {said}");
    let page = fs::read_to_string(&out).unwrap();
    let groups = data(&page)["groups"].clone();
    let labels = groups
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["label"].clone());
    assert_eq!(labels.collect::<Vec<_>>(), ["ring", "star"], "{file} {way}");
    let notice = page.split_once("id=\"left-out\">").expect("the notice").1;
    let notice = notice.split_once("</ul>").unwrap().0;
    assert!(
        notice.contains(&id) && notice.contains(file),
        "{file} {way}: {notice}"
    );
    assert!(
        !notice.contains(&*folder.path().to_string_lossy()),
        "{notice}"
    );

    fs::remove_file(&out).unwrap();
    let alone = write_report(&runs[1..2], &out).unwrap_err();
    assert!(
        matches!(alone, ReportError::NothingLeft { .. }),
        "{file} {way}: {alone}"
    );
    assert!(alone.to_string().contains(file) && !out.exists());
}

#[test]
fn a_spoilt_file_costs_its_run_alone() {
    for (file, _) in FILES {
        for (way, spoil) in WAYS {
            let folder = TempDir::new().unwrap();
            let runs = three_runs(&folder);
            spoil(&runs[1].join(file));
            assert_left_out(&folder, &runs, file, way);
        }
    }
}

#[test]
fn values_that_cannot_be_cost_their_run_alone() {
    for (file, contents) in FILES {
        let folder = TempDir::new().unwrap();
        let runs = three_runs(&folder);
        for content in contents {
            fs::write(runs[1].join(file), content).unwrap();
            assert_left_out(&folder, &runs, file, content);
        }
    }
    let folder = TempDir::new().unwrap();
    let runs = three_runs(&folder);
    let overlay = fs::read_to_string(runs[1].join("overlay.json")).unwrap();
    let wild = overlay.replacen("\"nodes\": 10", "\"nodes\": 4000000000", 1);
    assert_ne!(wild, overlay);
    fs::write(runs[1].join("overlay.json"), wild).unwrap();
    assert_left_out(&folder, &runs, "overlay.json", "4000000000 nodes");
}

#[test]
fn the_edges_of_a_complete_overlay_need_no_list() {
    let folder = TempDir::new().unwrap();
    let complete = Fixture {
        clients: 10,
        rounds: 3,
        topology: COMPLETE,
        ..Fixture::default()
    };
    let run = complete.write(folder.path());
    fs::remove_file(run.join("overlay.edges")).unwrap();
    let left_out = write_report(&[run], &folder.path().join("report.html")).unwrap();
    assert!(left_out.is_empty(), "{left_out:?}");
}

#[test]
fn a_folder_in_which_no_run_began_is_named_and_is_no_damage() {
    let folder = TempDir::new().unwrap();
    let runs = three_runs(&folder);
    let sweep = runs[0].parent().unwrap();
    fs::create_dir(sweep.join("notes")).unwrap();
    fs::create_dir(sweep.join(".hidden")).unwrap();
    let begun = sweep.join("0begun");
    fs::create_dir(&begun).unwrap();
    fs::write(begun.join("metrics.jsonl"), "").unwrap();
    let out = folder.path().join("report.html");
    let left_out = write_report(&[sweep.to_owned()], &out).unwrap();
    let said: Vec<String> = left_out.iter().map(LeftOut::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].contains("0begun") && said[1].contains("notes"),
        "{said:?}"
    );
    assert!(
        said.iter().all(|said| said.contains("no config.yaml")),
        "{said:?}"
    );
    assert!(!left_out.iter().any(LeftOut::is_damaged));

    fs::write(begun.join("metrics.jsonl"), "{\"round\": 0}\n").unwrap();
    let left_out = write_report(&[sweep.to_owned()], &out).unwrap();
    let said = left_out[0].to_string();
    assert!(
        left_out[0].is_damaged() && said.contains("config.yaml is missing"),
        "{said}"
    );
    assert!(said.ends_with("run it again"), "{said}");
}

#[test]
fn where_no_run_is_found_there_is_no_page() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("report.html");
    let message = |runs: &[PathBuf]| write_report(runs, &out).unwrap_err().to_string();
    assert_eq!(
        message(&[]),
        "report: found 0 run folders, needed at least 1"
    );
    let nowhere = folder.path().join("nowhere");
    assert!(message(std::slice::from_ref(&nowhere)).contains("nowhere: found no config.yaml"));
    assert!(!out.exists());
    let runs = three_runs(&folder);
    let left_out = write_report(&[runs[0].clone(), nowhere], &out).unwrap();
    assert!(left_out[0].to_string().contains("nowhere"), "{left_out:?}");
}

#[test]
fn many_damaged_runs_are_counted_on_the_page() {
    let folder = TempDir::new().unwrap();
    for seed in 1..=23 {
        let run = Fixture {
            clients: 10,
            rounds: 2,
            seed,
            ..Fixture::default()
        }
        .write(folder.path());
        if seed > 1 {
            fs::write(run.join("overlay.json"), "").unwrap();
        }
    }
    let page = page(&[folder.path().join("quickstart")], &folder);
    assert_eq!(
        page.matches("is left out: overlay.json is damaged: it is empty")
            .count(),
        20
    );
    assert!(page.contains("2 more are left out."));
}

#[test]
fn no_byte_of_any_file_can_end_the_program() {
    let folder = TempDir::new().unwrap();
    let run = Fixture {
        clients: 4,
        rounds: 1,
        ..Fixture::default()
    }
    .write(folder.path());
    for (file, _) in FILES {
        let path = run.join(file);
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let change: u8 = [0x01, 0x10, 0x80, 0xff][place % 4];
            let mut spoilt = whole.clone();
            spoilt[place] ^= change;
            fs::write(&path, spoilt).unwrap();
            let read = std::panic::catch_unwind(|| RecordedRun::read(&run).map(drop));
            assert!(read.is_ok(), "{file}: byte {place} changed by {change:#x}");
        }
        fs::write(&path, whole).unwrap();
    }
    assert_eq!(RecordedRun::read(&run).unwrap().last().unwrap().round, 1);
}
