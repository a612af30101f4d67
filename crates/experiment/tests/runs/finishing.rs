//! What a finished run leaves, and that other processes do not spoil it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;
use std::thread;

use meshfold_experiment::results::Claim;
use meshfold_experiment::{Ending, RunError, RunReport, run};

use crate::tiny::{Case, files, results, rounds};

/// The name of a file that a killed process was writing.
const HALF: &str = ".meshfold-unfinished-a1b2c3";

#[test]
fn leftovers_of_killed_processes_are_removed_when_the_run_is_started() {
    let case = Case::new(&["checkpoint={every: 2}"]);
    let broken = case.run_until(4);
    fs::write(broken.folder.join(HALF), "half a checkpoint").unwrap();
    let in_progress = broken.folder.join(format!("{HALF}4"));
    let writer = File::create(&in_progress).unwrap();
    writer.lock().unwrap();
    let resumed = case.run();
    assert_eq!(resumed.resumed_from, Some(4));
    assert!(!resumed.folder.join(HALF).exists());
    assert!(in_progress.exists(), "another process is writing it");
    drop(writer);
    // Leftovers are removed from finished runs as well.
    fs::write(resumed.folder.join(HALF), "half a report").unwrap();
    assert!(matches!(case.run().ending, Ending::Skipped { .. }));
    assert!(
        !files(&resumed.folder)
            .iter()
            .any(|name| name.starts_with("."))
    );
}

/// A finished run with the files of a process that was killed right after it had written `DONE`.
fn killed_at_the_end(keep: bool) -> (Case, PathBuf) {
    let case = Case::new(&[&format!("checkpoint={{every: 2, keep: {keep}}}")]);
    let broken = case.run_until(4);
    let kept = ["checkpoint.safetensors", "clients.spool"];
    let kept = kept.map(|name| (name, fs::read(broken.folder.join(name)).unwrap()));
    case.run();
    for (name, content) in kept {
        fs::write(broken.folder.join(name), content).unwrap();
    }
    (case, broken.folder)
}

#[test]
fn files_left_by_a_kill_after_done_are_removed_later() {
    for keep in [false, true] {
        let (case, folder) = killed_at_the_end(keep);
        assert!(matches!(case.run().ending, Ending::Skipped { .. }));
        assert_eq!(folder.join("checkpoint.safetensors").exists(), keep);
        assert_eq!(folder.join("clients.spool").exists(), keep);
    }
}

#[test]
fn files_of_a_run_in_progress_are_left_alone() {
    let (case, folder) = killed_at_the_end(false);
    let _claim = Claim::take(&folder).unwrap();
    assert!(matches!(case.run().ending, Ending::Skipped { .. }));
    assert!(folder.join("checkpoint.safetensors").exists());
    assert!(folder.join("clients.spool").exists());
}

#[test]
fn a_run_killed_before_done_has_the_same_results() {
    for (keep, from) in [(true, Some(7)), (false, None)] {
        let case = Case::new(&[&format!("checkpoint={{every: 2, keep: {keep}}}")]);
        let finished = case.run();
        let whole = results(&finished);
        for name in ["DONE", "summary.json", "clients.parquet"] {
            fs::remove_file(finished.folder.join(name)).unwrap();
        }
        // Without its checkpoint the run starts again.
        let again = case.run();
        assert_eq!(again.resumed_from, from);
        assert!(results(&again) == whole);
    }
}

#[test]
fn a_run_that_is_started_several_times_at_once_is_carried_out_once() {
    let alone = Case::new(&[]);
    let expected = results(&alone.run());
    for _ in 0..12 {
        let (case, begin) = (Case::new(&[]), Barrier::new(3));
        let attempt = || {
            begin.wait();
            let stop = AtomicBool::new(false);
            (0..20)
                .map(|_| run(&case.plan, &case.data, &case.options(), &stop, &mut ()))
                .filter_map(|outcome| match outcome {
                    Ok(report) => Some(report),
                    Err(RunError::Busy { .. }) => None,
                    Err(error) => panic!("{error}"),
                })
                .collect::<Vec<RunReport>>()
        };
        let reports = thread::scope(|scope| {
            let attempts = [(); 3].map(|()| scope.spawn(attempt));
            let reports = attempts.into_iter().map(|attempt| attempt.join().unwrap());
            reports.flatten().collect::<Vec<RunReport>>()
        });
        let finished = reports
            .iter()
            .filter(|report| matches!(report.ending, Ending::Finished));
        assert_eq!(finished.count(), 1, "one of them has carried it out");
        let last = reports.last().unwrap();
        assert_eq!(rounds(last).len(), 8);
        assert!(results(last) == expected);
        assert!(last.folder.join("DONE").exists());
    }
}
