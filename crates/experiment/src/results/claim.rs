//! Claims: one process at a time carries a run out, whatever machine it is on.
//!
//! A claim is a small file in the folder of the run, `claim-1.json`. It says who has the run, and changes every few seconds
//! as a sign of life. Nothing depends on locks, which many network file systems do not keep between machines:
//!
//! - A claim is made by a link, which one process alone can make. So of several that begin, one gets the run.
//! - The claim of a process of this machine is dead when that process has ended. That of another machine is dead when it has
//!   stood still for a minute, measured by the clock of whoever looks at it.
//! - A dead claim is taken over by making the claim with the next number, which again one process alone can do. Then the
//!   earlier one is removed.
//! - A process that was suspended meanwhile finds its claim gone before it writes ([`Claim::verify`]), and leaves the run.

mod heartbeat;
mod holder;
mod patience;
mod process;
mod sightings;

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jiff::{Timestamp, Unit};

use crate::results::claim::heartbeat::{Heartbeat, Rounds};
pub(crate) use crate::results::claim::holder::is_claim;
use crate::results::claim::holder::{Found, claims_in, is_gone, name};
use crate::results::claim::patience::Patience;
use crate::results::claim::sightings::{ClaimState, Sightings};
use crate::results::run_error::RunError;

pub use holder::Holder;
pub use process::Process;

/// How often a claim is tried again when others make and remove theirs at the same time.
const ATTEMPTS: u64 = 50;

/// How far the clocks of two machines may be apart where one is shown what the other does.
const CLOCKS: Duration = Duration::from_secs(300);

/// What the name of a claim begins with until it is made, so that it is removed as other unfinished files are.
const UNFINISHED: &str = ".meshfold-unfinished-claim-";

/// The run in a folder is this process's for as long as this lives.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    number: u64,
    token: String,
    rounds: Arc<Rounds>,
    heartbeat: Heartbeat,
}

impl Claim {
    /// Claims the run in `folder`, which exists, for this process. The claim of a dead process is taken over.
    ///
    /// # Errors
    /// [`RunError::Busy`] if another process has the run, or may have it. [`RunError::Write`] if the folder cannot be
    /// written to.
    pub fn take(folder: &Path) -> Result<Self, RunError> {
        Self::take_with(folder, Patience::here())
    }

    fn take_with(folder: &Path, patience: &Patience) -> Result<Self, RunError> {
        let failed = |source| RunError::write(&folder.join(name(1)), source);
        for attempt in 0..ATTEMPTS {
            let claims = claims_in(folder).map_err(failed)?;
            let is_dead = |claim: &Found| Sightings::state(claim, patience) == ClaimState::Dead;
            if let Some(held) = claims.iter().find(|claim| !is_dead(claim)) {
                return Err(busy(held));
            }
            if let Some(claim) = make(folder, &claims, patience).map_err(failed)? {
                return Ok(claim);
            }
            // Others are here. Random pauses let one of them be the first.
            let pause = RandomState::new().hash_one(attempt) % (1 << attempt.min(7));
            thread::sleep(Duration::from_millis(pause));
        }
        let claims = claims_in(folder).map_err(failed)?;
        let path = folder.join(name(1));
        Err(claims
            .last()
            .map_or(RunError::Busy { path, by: None }, busy))
    }

    /// Makes sure that the run is still this process's. It is not if this process gave no sign of life for so long that another
    /// one took it over.
    ///
    /// # Errors
    /// [`RunError::TakenOver`] if it is not; [`RunError::Removed`] if nobody's is, as the folder is gone; [`RunError::Read`] if that
    /// cannot be found out.
    pub(crate) fn verify(&self) -> Result<(), RunError> {
        let found = Found::read(&self.path, self.number);
        let found = found.map_err(|source| RunError::read(&self.path, source))?;
        if found.is_some_and(|found| found.has(&self.token)) {
            return Ok(());
        }
        let folder = self.folder();
        if !folder.exists() {
            let path = folder.to_owned();
            return Err(RunError::Removed { path });
        }
        let by = claims_in(folder).unwrap_or_default().pop();
        Err(RunError::TakenOver {
            path: folder.to_owned(),
            by: by.and_then(|claim| claim.holder).map(|by| by.process),
        })
    }

    /// The run goes on after `round`.
    pub(crate) fn begin_after(&self, round: usize) {
        self.rounds.from.store(round, Ordering::Relaxed);
        self.rounds.done.store(round, Ordering::Relaxed);
    }

    /// `round` is done.
    pub(crate) fn done(&self, round: usize) {
        self.rounds.done.store(round, Ordering::Relaxed);
        self.heartbeat.round_done();
    }

    fn folder(&self) -> &Path {
        self.path
            .parent()
            .expect("a claim lies in the folder of a run")
    }

    /// Who has the run in `folder`, as far as one look tells: a process of this machine that has ended has it no more, nor has
    /// one of another machine whose last sign of life is long past by this machine's clock.
    ///
    /// This is good enough to show. Whether a run may be taken over, [`Claim::take`] finds out with no such clock.
    pub fn holder(folder: &Path) -> Option<Holder> {
        let mut claims = claims_in(folder).unwrap_or_default();
        claims.retain(|claim| match Sightings::state(claim, Patience::here()) {
            ClaimState::Alive => true,
            ClaimState::Dead => false,
            ClaimState::Undecided => !is_long_past(&claim.path),
        });
        claims.pop().and_then(|claim| claim.holder)
    }

    /// How long ago the process that has the run in `folder` gave its last sign of life, by the clock of this machine. The clock of the
    /// machine that wrote it may go otherwise.
    pub fn last_sign(folder: &Path) -> Option<Duration> {
        age(&claims_in(folder).ok()?.pop()?.path)
    }

    /// Waits until it is known of each of `folders` whether a process has its run: seconds, or up to a minute where one has
    /// died on another machine.
    pub fn settle(folders: &[PathBuf]) {
        await_verdicts(folders, &AtomicBool::new(false));
    }

    /// Whether there is a claim in `folder`, of whomever.
    pub(crate) fn is_left(folder: &Path) -> bool {
        claims_in(folder).is_ok_and(|claims| !claims.is_empty())
    }

    /// Whether another process has the run in `folder`, or may have it.
    pub(crate) fn is_held(folder: &Path) -> bool {
        state(folder) != ClaimState::Dead
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.verify().is_ok() {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Whether the file at `path` was written so long ago that even clocks that differ by minutes do not explain it.
fn is_long_past(path: &Path) -> bool {
    age(path).is_some_and(|past| past > Patience::here().limit() + CLOCKS)
}

/// How long ago the file at `path` was written, by the clock of this machine; nothing if it is gone.
fn age(path: &Path) -> Option<Duration> {
    let written = fs::metadata(path).and_then(|found| found.modified());
    let written = written.ok()?;
    Some(written.elapsed().unwrap_or_default())
}

/// Waits until it is known of each of `folders` whether a process has its run, or until `stop`.
pub(crate) fn await_verdicts(folders: &[PathBuf], stop: &AtomicBool) {
    let mut folders: Vec<&PathBuf> = folders.iter().collect();
    while !stop.load(Ordering::Relaxed) {
        folders.retain(|folder| state(folder) == ClaimState::Undecided);
        if folders.is_empty() {
            return;
        }
        thread::sleep(Patience::here().between_looks());
    }
}

/// How the claims in `folder` stand; dead if there are none.
fn state(folder: &Path) -> ClaimState {
    let claims = claims_in(folder).unwrap_or_default();
    let verdicts = claims
        .iter()
        .map(|claim| Sightings::state(claim, Patience::here()));
    verdicts
        .reduce(|one, other| match (one, other) {
            (ClaimState::Dead, other) => other,
            (one, ClaimState::Dead) => one,
            (ClaimState::Alive, _) | (_, ClaimState::Alive) => ClaimState::Alive,
            _ => ClaimState::Undecided,
        })
        .unwrap_or(ClaimState::Dead)
}

fn busy(claim: &Found) -> RunError {
    RunError::Busy {
        path: claim.path.clone(),
        by: claim.holder.as_ref().map(|holder| holder.process.clone()),
    }
}

/// Makes the claim that comes after the `dead` ones in `folder`; none if others made or removed claims meanwhile.
fn make(folder: &Path, dead: &[Found], patience: &Patience) -> io::Result<Option<Claim>> {
    let number = dead.last().map_or(1, |claim| claim.number + 1);
    let path = folder.join(name(number));
    let now = Timestamp::now();
    let holder = Holder {
        process: Process::this(),
        since: now.round(Unit::Second).unwrap_or(now),
        seconds: 0.0,
        from_round: 0,
        round: 0,
        token: token(),
        signs: 0,
    };
    if !link(folder, &path, &holder)? {
        return Ok(None);
    }
    // What was listed before may have been outdated. This folder has changed since, so what is listed now is not.
    let is_known =
        |claim: &Found| claim.path == path || dead.iter().any(|d| d.is_same_claim(claim));
    let claims = claims_in(folder)?;
    if !claims.iter().all(is_known) {
        fs::remove_file(&path)?;
        return Ok(None);
    }
    for claim in claims.iter().filter(|claim| claim.path != path) {
        match fs::remove_file(&claim.path) {
            Err(error) if !is_gone(&error) => return Err(error),
            _ => {}
        }
    }
    let (token, rounds) = (holder.token.clone(), Arc::<Rounds>::default());
    let beating = Arc::clone(&rounds);
    let heartbeat = Heartbeat::start(path.clone(), holder, beating, patience.between_signs());
    Ok(Some(Claim {
        heartbeat,
        path,
        number,
        token,
        rounds,
    }))
}

/// Makes the file of the claim of `holder` at `path`, whole and in one step. Whether this process made it.
fn link(folder: &Path, path: &Path, holder: &Holder) -> io::Result<bool> {
    let unfinished = folder.join(format!("{UNFINISHED}{}", holder.token));
    fs::write(&unfinished, holder.to_bytes())?;
    let linked = fs::hard_link(&unfinished, path);
    fs::remove_file(&unfinished).ok();
    match linked {
        Ok(()) => Ok(true),
        // Whoever has the run removes unfinished files.
        Err(error) if is_gone(&error) => Ok(false),
        // The answer of a file server may be lost, so that a link that was made is made again.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = Found::read(path, 0)?;
            Ok(found.is_some_and(|found| found.has(&holder.token)))
        }
        Err(_) => without_link(path, holder),
    }
}

/// As [`link`], on file systems that have no links.
fn without_link(path: &Path, holder: &Holder) -> io::Result<bool> {
    use std::io::Write;

    match fs::File::create_new(path) {
        Ok(mut file) => file.write_all(&holder.to_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// A random word: the system seeds each [`RandomState`] of a process.
fn token() -> String {
    let now = Timestamp::now().as_nanosecond();
    format!(
        "{:016x}",
        RandomState::new().hash_one((now, std::process::id()))
    )
}

#[cfg(test)]
mod tests;
