//! A sweep whose runs go on side by side, killed again and again.

use crate::interrupting::{Moment, draw_signal};
use crate::program::Program;
use crate::session::{Case, CaseResult, soak};
use crate::subject::Subject;
use crate::undisturbed::Undisturbed;

#[test]
fn a_sweep_that_is_killed_ends_as_one_that_is_not() {
    soak("killed_sweeps", examine);
}

fn examine(case: &mut Case) -> CaseResult {
    let (rounds, runs) = (case.dice.within(10..=80), case.dice.within(2..=5));
    let folder = case.folder().to_owned();
    let subject = Subject::draw_sweep(&mut case.dice, case.number, rounds, runs);
    let undisturbed = Undisturbed::run(&folder, subject)?;
    for _ in 0..case.dice.within(1..=4) {
        let at_once = case.dice.within(1..=4).to_string();
        let line = [
            "run",
            "subject.yaml",
            "--threads",
            "2",
            "--at-once",
            &at_once,
        ];
        let moment = Moment::draw(&mut case.dice, undisturbed.took);
        let (signal, _) = draw_signal(&mut case.dice);
        let mut program = Program::start(&folder, &line);
        moment.wait(&mut program, &folder.join("runs/subject"));
        program.signal(signal);
        let said = program.wait()?;
        if said.signal.is_none() {
            said.is_decent()?;
        }
    }
    undisturbed.expect_same_in_the_end(&folder)?;
    Ok(())
}
