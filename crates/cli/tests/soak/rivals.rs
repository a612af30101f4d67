//! Several processes that want the same run: one of them does it, and the result is that of a single one.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::dice::Dice;
use crate::program::Program;
use crate::session::{Case, CaseResult, soak};
use crate::subject::Subject;
use crate::undisturbed::{Undisturbed, expect_whole_runs};

#[test]
fn processes_that_want_the_same_run_do_not_spoil_it() {
    soak("rivals", examine);
}

fn examine(case: &mut Case) -> CaseResult {
    let (rounds, runs) = (case.dice.within(3..=40), case.dice.within(1..=3));
    let folder = case.folder().to_owned();
    let subject = Subject::draw_sweep(&mut case.dice, case.number, rounds, runs);
    let undisturbed = Undisturbed::run(&folder, subject)?;
    if case.dice.chance(0.5) {
        for _ in 0..8 {
            overtake(&mut case.dice, &folder, undisturbed.took)?;
            expect_whole_runs(&folder)?;
            fs::remove_dir_all(folder.join("runs")).unwrap();
        }
    } else {
        for _ in 0..case.dice.within(1..=3) {
            compete(&mut case.dice, &folder, undisturbed.took)?;
            expect_whole_runs(&folder)?;
        }
    }
    undisturbed.expect_same_in_the_end(&folder)?;
    Ok(())
}

/// Starts two or three processes and lets each stand still for a while at random moments. Whoever is refused the run says
/// that another process has it.
fn compete(dice: &mut Dice, folder: &Path, took: Duration) -> CaseResult {
    let count = dice.within(2..=3);
    let mut programs = Vec::new();
    for _ in 0..count {
        programs.push(Program::start(
            folder,
            &["run", "subject.yaml", "--threads", "1"],
        ));
        sleep(took.mul_f64(dice.within(0.0..=0.5)));
    }
    for _ in 0..dice.within(0..=6) {
        let chosen = dice.within(0..=count - 1);
        programs[chosen].signal("STOP");
        sleep(took.mul_f64(dice.within(0.0..=0.4)));
        if dice.chance(0.8) {
            programs[chosen].signal("CONT");
        }
    }
    // Those that stand still go on only when the others have ended, or one after the other.
    if dice.chance(0.5) {
        sleep(took);
    }
    for program in &mut programs {
        program.signal("CONT");
        sleep(took.mul_f64(dice.within(0.0..=0.3)));
    }
    for program in programs {
        ended(program)?;
    }
    Ok(())
}

/// Starts two processes, and lets the second stand still, wherever it has come to, until the first has done all runs.
fn overtake(dice: &mut Dice, folder: &Path, took: Duration) -> CaseResult {
    let line = ["run", "subject.yaml", "--threads", "1"];
    let first = Program::start(folder, &line);
    sleep(took.mul_f64(dice.within(0.0..=0.9)));
    let mut second = Program::start(folder, &line);
    sleep(Duration::from_micros(dice.within(0..=12_000)));
    second.signal("STOP");
    ended(first)?;
    second.signal("CONT");
    ended(second)
}

/// Waits for a rival, which may fail only because another has the run.
fn ended(program: Program) -> CaseResult {
    let said = program.wait()?;
    said.is_decent()?;
    let gives_way = said.err.contains("another process");
    if matches!(said.code, Some(1 | 2)) && !gives_way && !said.err.contains("failed") {
        return Err(said.complaint("a rival fails for another reason than that the run is taken"));
    }
    Ok(())
}
