//! Random experiments: each is planned, or refused with a line, in little time and memory, and never ends in a panic.

use std::fs;
use std::path::{Path, PathBuf};

use crate::examination::{Given, suspected};
use crate::session::{Case, Complaint, Session, complaint};
use crate::worker::{Answer, Worker};

#[test]
fn experiments_are_planned_or_refused_with_a_line() {
    let mut session = Session::new("configurations");
    let ground = session.case(u64::MAX);
    let mut workers = Workers::new(ground.folder());
    let (mut most_seconds, mut most_mebibytes) = (0.0_f64, 0);
    while let Some(number) = session.next() {
        let complaints = match workers.answer(number) {
            Ok(answer) => {
                session.note(answer.outcome);
                most_seconds = most_seconds.max(answer.seconds);
                most_mebibytes = most_mebibytes.max(answer.mebibytes);
                answer.complaints
            }
            Err(trouble) => vec![trouble],
        };
        for complaint in complaints {
            let case = session.case(number);
            write_given(&case);
            session.put_down(case, Err(complaint));
        }
    }
    session.note(format!(
        "at most {most_seconds:.2} s and {most_mebibytes} MiB"
    ));
    drop(workers);
    drop(ground);
    session.end();
}

/// Writes what the case gives to the program to its folder, with the command that shows it.
fn write_given(case: &Case) {
    let given = Given::of_case(case.number);
    let text = given.text();
    fs::write(case.folder().join("experiment.yaml"), &text.yaml).unwrap();
    let mut command = "meshfold plan experiment.yaml".to_owned();
    for one in &text.overrides {
        command += &format!(" --set '{}'", one.replace('\'', "'\\''"));
    }
    if text.without_data {
        command += " --without-data";
    }
    fs::write(case.folder().join("command"), command + "\n").unwrap();
}

/// The processes that examine the cases, one after the other.
struct Workers {
    folder: PathBuf,
    worker: Option<Worker>,
}

impl Workers {
    fn new(folder: &Path) -> Self {
        write_data(folder);
        Self {
            folder: folder.to_owned(),
            worker: None,
        }
    }

    /// What comes of the case `number`. Trouble with time and memory counts if a fresh process has it as well.
    fn answer(&mut self, number: u64) -> Result<Answer, Complaint> {
        let given = Given::of_case(number);
        let mut worker = self.worker.take().filter(|worker| worker.is_at(number));
        let ready = worker.get_or_insert_with(|| Worker::start(&self.folder, number));
        let was_used = ready.is_used();
        let mut answer = ready.answer();
        let is_costly = |trouble: &Complaint| trouble.what.contains("takes more than");
        let is_doubtful = match &answer {
            Ok(answer) => answer.complaints.iter().any(is_costly),
            Err(_) => true,
        };
        if was_used && is_doubtful {
            drop(worker.take());
            answer = worker.insert(Worker::start(&self.folder, number)).answer();
        }
        match answer {
            Ok(answer) => {
                self.worker = worker;
                Ok(answer)
            }
            Err(trouble) => Err(complaint(trouble.what + &suspected(&given), trouble.detail)),
        }
    }
}

/// The files that the reference of settings speaks of, as far as they are text.
fn write_data(folder: &Path) {
    let row = |row: u32| format!("{},{},{},{}\n", row % 4, row % 3, row, f64::from(row) / 7.0);
    let rows: String = (0..60).map(row).collect();
    fs::write(
        folder.join("table.csv"),
        format!("who,kind,length,width\n{rows}"),
    )
    .unwrap();
    let edges: String = (1..12)
        .map(|node| format!("{} {node}\n", (node - 1) / 2))
        .collect();
    fs::write(folder.join("tree.edges"), edges).unwrap();
    let trace = "seconds,bytes_per_second\n0,1000000\n1,2000000\n2,500000\n";
    fs::write(folder.join("bandwidths.csv"), trace).unwrap();
}
