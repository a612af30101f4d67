//! Damaged files of runs: the program tells of them, or puts them right, and never takes them for whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::damage::{DAMAGES, Damage, copy_folder, files_below};
use crate::dice::Dice;
use crate::outcome::{CHECKPOINT, Outcome, expect_documented_files, run_folders};
use crate::program::{Program, Said};
use crate::session::{Case, CaseResult, Complaint, Session, complaint, seed};
use crate::subject::Subject;

/// Cases that share one sweep, which is run once for all of them.
const CASES_OF_A_SWEEP: u64 = 40;

#[test]
fn damaged_files_are_told_of_or_put_right() {
    let mut session = Session::new("corruption");
    let mut sweep: Option<(u64, Case, Fixture)> = None;
    while let Some(number) = session.next() {
        let group = number / CASES_OF_A_SWEEP;
        if sweep.as_ref().is_none_or(|(of, ..)| *of != group) {
            // The cases before use the folder of the sweep until here.
            drop(sweep.take());
            let mut case = session.case(1_000_000_000 + group);
            match Fixture::make(&mut case, group) {
                Ok(fixture) => sweep = Some((group, case, fixture)),
                Err(trouble) => {
                    session.put_down(case, Err(trouble));
                    break;
                }
            }
        }
        let (_, _, fixture) = sweep.as_ref().expect("it was made above");
        let mut case = session.case(number);
        let verdict = examine(&mut case, fixture);
        session.put_down(case, verdict);
    }
    drop(sweep);
    session.end();
}

/// A sweep of two runs, finished and broken off.
struct Fixture {
    /// The folder of the case that it was made in.
    folder: PathBuf,
    /// What its runs come to, in the order of their ids.
    outcomes: [Outcome; 2],
    /// Names of their folders.
    ids: [String; 2],
}

/// The state that a run is damaged in, and the folder of the fixture that holds it.
const STATES: [&str; 2] = ["finished", "broken"];

impl Fixture {
    /// Runs a sweep to its end, and once more until it has taken some checkpoints.
    fn make(case: &mut Case, group: u64) -> Result<Self, Complaint> {
        let folder = case.folder().to_owned();
        // One of the methods that fails in no round, another one in every sweep.
        for _ in 0..20 {
            let method = case.dice.within(0..=1000) + group;
            let subject = Subject::draw_sweep(&mut case.dice, method, 200, 2).saved(4);
            fs::write(folder.join("subject.yaml"), &subject.yaml).unwrap();
            let finished = run(&folder, &["--results", "finished", "-q"])?;
            if finished.code != Some(0) {
                fs::remove_dir_all(folder.join("finished")).unwrap();
                continue;
            }
            if break_off(&folder)? {
                return Ok(Self::of(folder));
            }
        }
        Err(complaint(
            "no run could be broken off",
            "it always ended before",
        ))
    }

    fn of(folder: PathBuf) -> Self {
        let runs: [PathBuf; 2] = run_folders(&folder.join("finished/subject"))
            .try_into()
            .expect("the sweep has two runs");
        let id = |run: &PathBuf| run.file_name().unwrap().to_string_lossy().into_owned();
        Self {
            outcomes: [&runs[0], &runs[1]].map(|run| Outcome::read(run)),
            ids: [id(&runs[0]), id(&runs[1])],
            folder,
        }
    }
}

/// Kills the runs of the sweep when both have a checkpoint. Returns whether neither has ended by then.
fn break_off(folder: &Path) -> Result<bool, Complaint> {
    let results = folder.join("broken/subject");
    let line = [
        "run",
        "subject.yaml",
        "--results",
        "broken",
        "--at-once",
        "2",
        "--threads",
        "2",
    ];
    let mut program = Program::start(folder, &line);
    let count = |is_so: fn(&Path) -> bool| {
        let runs = run_folders(&results);
        runs.iter().filter(|run| is_so(run)).count()
    };
    let is_saved = |run: &Path| run.join(CHECKPOINT).exists();
    while program.is_running() && count(is_saved) < 2 {
        sleep(Duration::from_millis(1));
    }
    sleep(Duration::from_millis(30));
    program.signal("KILL");
    program.wait()?;
    let is_broken = count(is_saved) == 2 && count(|run| run.join("DONE").exists()) == 0;
    if !is_broken {
        fs::remove_dir_all(folder.join("broken")).unwrap();
    }
    Ok(is_broken)
}

fn run(folder: &Path, more: &[&str]) -> Result<Said, Complaint> {
    let said = Program::run(folder, &[&["run", "subject.yaml"], more].concat())?;
    said.is_decent()?;
    Ok(said)
}

/// One file of one run, and what is done to it.
struct Harm {
    state: &'static str,
    /// Which of the two runs.
    which: usize,
    /// The file, as `checkpoint/state.json`.
    file: PathBuf,
    damage: Damage,
}

impl Harm {
    /// Of all files and kinds of damage one after the other, in an order that depends on the seed.
    fn of_case(number: u64, fixture: &Fixture, dice: &mut Dice) -> Self {
        let which = dice.within(0..=1);
        let mut all = Vec::new();
        for state in STATES {
            let run = fixture
                .folder
                .join(state)
                .join("subject")
                .join(&fixture.ids[which]);
            for file in files_below(&run) {
                let kinds = DAMAGES.iter().map(|damage| (state, file.clone(), *damage));
                all.extend(kinds);
            }
        }
        let order = Dice::new(seed(), "order of damage", 0).order(all.len());
        let (state, file, damage) = all.swap_remove(order[number as usize % order.len()]);
        Self {
            state,
            which,
            file,
            damage,
        }
    }

    /// What a kind of failure of this harm is called.
    fn name(&self) -> String {
        let file = self.file.to_string_lossy();
        let file = match file.rsplit_once('/') {
            Some((folder, name)) if name.contains("safetensors") => {
                format!("{folder}/*.safetensors")
            }
            Some((folder, name)) if name.starts_with(".meshfold-unfinished") => {
                format!("{folder}/.meshfold-unfinished-*")
            }
            None if file.starts_with(".meshfold-unfinished") => ".meshfold-unfinished-*".to_owned(),
            _ => file.into_owned(),
        };
        format!("{file} of a {} run", self.state)
    }
}

fn examine(case: &mut Case, fixture: &Fixture) -> CaseResult {
    let harm = Harm::of_case(case.number, fixture, &mut case.dice);
    let folder = case.folder().to_owned();
    let trial = Trial::new(&folder, fixture, &harm);
    let file_of_other = Some(trial.other.join(&harm.file)).filter(|path| path.is_file());
    let path = trial.hurt.join(&harm.file);
    if !harm
        .damage
        .strike(&path, file_of_other.as_deref(), &mut case.dice)
    {
        return Ok(());
    }
    let blamed = |trouble: Complaint| Complaint {
        what: format!("{}: {}", harm.name(), trouble.what),
        detail: format!(
            "{:?} {}\n{}",
            harm.damage,
            harm.file.display(),
            trouble.detail
        ),
    };
    for step in case.dice.order(2) {
        match step {
            0 => trial.report().map_err(blamed)?,
            _ => {
                let note = trial.run().map_err(blamed)?;
                case.notes.extend(note);
            }
        }
    }
    trial.run_again().map_err(blamed)
}

/// A sweep with a damaged run, in the folder of a case.
struct Trial<'a> {
    folder: &'a Path,
    fixture: &'a Fixture,
    harm: &'a Harm,
    /// The folder of the run that is damaged.
    hurt: PathBuf,
    /// That of the other.
    other: PathBuf,
}

impl<'a> Trial<'a> {
    /// Copies the sweep of the fixture to `folder`.
    fn new(folder: &'a Path, fixture: &'a Fixture, harm: &'a Harm) -> Self {
        copy_folder(&fixture.folder.join(harm.state), &folder.join("runs"));
        let name = "subject.yaml";
        fs::copy(fixture.folder.join(name), folder.join(name)).unwrap();
        let runs = folder.join("runs/subject");
        Self {
            folder,
            fixture,
            harm,
            hurt: runs.join(&fixture.ids[harm.which]),
            other: runs.join(&fixture.ids[1 - harm.which]),
        }
    }

    /// The report leaves out the damaged run if it must, says so, and shows the other.
    fn report(&self) -> CaseResult {
        let line = ["report", "runs/subject", "--out", "page.html"];
        let said = Program::run(self.folder, &line)?.ended_with(&[0, 1, 2])?;
        let Ok(page) = fs::read_to_string(self.folder.join("page.html")) else {
            return Err(said.complaint("no report of the whole run beside the damaged one"));
        };
        let shows = |which: usize| page.contains(&self.fixture.ids[which]);
        if !shows(1 - self.harm.which) {
            return Err(said.complaint("the report lacks the whole run"));
        }
        if said.code != Some(0) && !self.is_named_by(&said) {
            return Err(said.complaint("the report fails without naming the file or the run"));
        }
        if !shows(self.harm.which) && !self.is_named_by(&said) {
            return Err(said.complaint("the report leaves out the damaged run in silence"));
        }
        Ok(())
    }

    /// The next start puts the run right or reports it. Returns a note on damage to a finished run that went unnoticed.
    fn run(&self) -> Result<Option<String>, Complaint> {
        let said = run(self.folder, &["--json"])?;
        if !matches!(said.code, Some(0..=2)) {
            return Err(said.complaint("neither done nor failed nor refused"));
        }
        let whole = &self.fixture.outcomes[1 - self.harm.which];
        whole
            .expect_same(&self.other)
            .map_err(|trouble| Complaint {
                what: format!("the other run: {}", trouble.what),
                ..trouble
            })?;
        let id = &self.fixture.ids[1 - self.harm.which];
        if !said.json()?.iter().any(|line| line["id"] == *id.as_str()) {
            return Err(said.complaint("the whole run is missing from what is printed"));
        }
        let named = self.is_named_by(&said);
        if said.code != Some(0) && !named {
            return Err(said.complaint("it fails without naming the file or the run"));
        }
        let outcome = &self.fixture.outcomes[self.harm.which];
        match outcome.expect_same(&self.hurt) {
            // A broken run that ends well has come to what it should, whatever was said on the way.
            Err(_) if named && (self.harm.state == "finished" || said.code != Some(0)) => Ok(None),
            Err(_) if self.is_unknowable() => Ok(Some(format!(
                "unnoticed: {:?} {}",
                self.harm.damage,
                self.harm.name()
            ))),
            Err(trouble) => Err(Complaint {
                what: format!("taken for whole, {}", trouble.what),
                detail: format!("{}\n{said}", trouble.detail),
            }),
            Ok(()) => Ok(None),
        }
    }

    /// Whether nothing can tell of the damage: to what `DONE` says of the version and the device, with the digests as they were.
    fn is_unknowable(&self) -> bool {
        let is_done = self.harm.file.ends_with("DONE") && self.harm.state == "finished";
        let whole = &self.fixture.outcomes[self.harm.which];
        let found = Outcome::read(&self.hurt);
        is_done && found.is_readable() && found.records() == whole.records()
    }

    /// `run --again` puts right whatever it was, or names what lies in its way.
    fn run_again(&self) -> CaseResult {
        let said = run(self.folder, &["--again"])?;
        if said.code != Some(0) {
            let in_the_way = matches!(self.harm.damage, Damage::Folder | Damage::Link);
            return match in_the_way && self.is_named_by(&said) {
                true => Ok(()),
                false => Err(said.complaint(format!("--again ends with code {:?}", said.code))),
            };
        }
        let outcome = &self.fixture.outcomes[self.harm.which];
        let same = outcome.expect_same(&self.hurt);
        // A link that led nowhere may have been followed.
        same.and_then(|()| expect_documented_files(&self.hurt, &["nowhere"]))
            .map_err(|trouble| Complaint {
                what: format!("after --again, {}", trouble.what),
                ..trouble
            })
    }

    /// Whether the program has named the damaged file or its run, other than to say that it is skipped.
    fn is_named_by(&self, said: &Said) -> bool {
        let file = self.harm.file.file_name().unwrap().to_string_lossy();
        let folder = self.harm.file.parent().unwrap().to_string_lossy();
        let id = &self.fixture.ids[self.harm.which];
        let names = |line: &str| {
            let in_folder = !folder.is_empty() && line.contains(&*folder);
            line.contains(&*file) || line.contains(id.as_str()) || in_folder
        };
        said.err.lines().any(names)
    }
}
