//! One run, killed or interrupted again and again: in the end it has come to the same as one that nobody disturbed.

use std::path::Path;
use std::time::Duration;

use crate::interrupting::{Moment, draw_signal};
use crate::program::{Program, Said};
use crate::session::{Case, CaseResult, complaint, soak};
use crate::subject::Subject;
use crate::undisturbed::Undisturbed;

#[test]
fn a_run_that_is_killed_ends_as_one_that_is_not() {
    soak("kills", examine);
}

fn examine(case: &mut Case) -> CaseResult {
    let rounds = case.dice.within(20..=250);
    let folder = case.folder().to_owned();
    let subject = Subject::draw(&mut case.dice, case.number, rounds);
    let undisturbed = Undisturbed::run(&folder, subject)?;
    let mut attempts = Attempts::default();
    for _ in 0..case.dice.within(1..=6) {
        attempts.disturb(case, undisturbed.took)?;
    }
    if case.dice.chance(0.3) {
        report_what_there_is(&folder)?;
    }
    let last = undisturbed.expect_same_in_the_end(&folder)?;
    attempts.expect_kept_promise(&last)
}

/// What the starts so far have left to the next.
#[derive(Default)]
struct Attempts {
    /// What a start said that was interrupted and promised that the next one goes on.
    promise: Option<String>,
}

impl Attempts {
    /// Starts the run and disturbs it.
    fn disturb(&mut self, case: &mut Case, took: Duration) -> CaseResult {
        let folder = case.folder().to_owned();
        let threads = case.dice.within(1..=2).to_string();
        let moment = Moment::draw(&mut case.dice, took);
        let (signal, in_order) = draw_signal(&mut case.dice);
        let mut program = Program::start(&folder, &["run", "subject.yaml", "--threads", &threads]);
        moment.wait(&mut program, &folder.join("runs/subject"));
        program.signal(signal);
        let said = program.wait()?;
        // Before the program listens, a request to end ends it as it does any other program.
        let ends_early = in_order && matches!(said.signal, Some(2 | 15)) && !has_begun(&said.err);
        let was_killed = signal == "KILL" && said.signal == Some(9);
        if !was_killed && !ends_early {
            said.is_decent()?;
            self.expect_kept_promise(&said.err)?;
        }
        if matches!(said.code, Some(75 | 130)) && promises(&said) {
            self.promise = Some(said.to_string());
        }
        Ok(())
    }

    /// Requires that a start that wrote `errors` goes on if one before it has promised so.
    fn expect_kept_promise(&self, errors: &str) -> CaseResult {
        let goes_on = errors.contains("goes on after round");
        match &self.promise {
            Some(promise) if has_begun(errors) && !goes_on => Err(complaint(
                "an interrupted run does not go on as it promised",
                format!("{promise}\nand then\n{errors}"),
            )),
            _ => Ok(()),
        }
    }
}

/// Whether an interrupted program has said that the next start goes on.
fn promises(said: &Said) -> bool {
    let promise = |line: &str| line.contains("interrupted") && line.contains("goes on");
    said.err.lines().any(promise)
}

/// Whether the program has said that it begins the run.
fn has_begun(errors: &str) -> bool {
    errors.lines().any(|line| line.ends_with(" rounds"))
}

/// A report of an unfinished run: it is written, or refused where no run has begun yet.
fn report_what_there_is(folder: &Path) -> CaseResult {
    if !folder.join("runs/subject").is_dir() {
        return Ok(());
    }
    Program::run(folder, &["report", "runs/subject", "--out", "page.html"])?.ended_with(&[0, 2])?;
    Ok(())
}
