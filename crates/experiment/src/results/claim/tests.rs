//! Claims within one process, and those of machines that are not there.

use std::sync::Barrier;

use super::*;

/// Ends within a second.
fn short() -> Patience {
    Patience::of(Duration::from_millis(600))
}

/// Puts a claim of a process that nobody can see into `folder`.
fn foreign(folder: &Path, number: u64) -> (PathBuf, Holder) {
    let this = Process::this();
    let holder = Holder {
        process: Process {
            host: "far-away".to_owned(),
            ..this
        },
        since: Timestamp::UNIX_EPOCH,
        seconds: 0.0,
        from_round: 0,
        round: 0,
        token: token(),
        signs: 0,
    };
    let path = folder.join(name(number));
    fs::write(&path, holder.to_bytes()).unwrap();
    (path, holder)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Tries until the claim of another machine is taken over; for how long.
fn take_over(folder: &Path, patience: &Patience) -> (Claim, Duration) {
    let began = std::time::Instant::now();
    loop {
        match Claim::take_with(folder, patience) {
            Ok(claim) => return (claim, began.elapsed()),
            Err(RunError::Busy { .. }) => thread::sleep(Duration::from_millis(10)),
            Err(error) => panic!("{error}"),
        }
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_claimed_run_is_busy_until_the_claim_is_let_go_of() {
    let folder = tempfile::tempdir().unwrap();
    let claim = Claim::take(folder.path()).unwrap();
    claim.verify().unwrap();
    assert!(Claim::is_held(folder.path()));
    let error = Claim::take(folder.path()).unwrap_err();
    let process = std::process::id().to_string();
    assert!(matches!(error, RunError::Busy { .. }) && error.to_string().contains(&process));
    assert_eq!(names(folder.path()), ["claim-1.json"]);
    drop(claim);
    assert!(names(folder.path()).is_empty());
    drop(Claim::take(folder.path()).unwrap());
}

#[test]
fn a_removed_folder_is_not_taken_for_a_run_of_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let claim = Claim::take(&run).unwrap();
    fs::remove_dir_all(&run).unwrap();
    let error = claim.verify().unwrap_err();
    assert!(matches!(error, RunError::Removed { .. }), "{error}");
}

#[test]
fn the_claim_of_a_process_that_has_ended_is_taken_over_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut holder) = foreign(folder.path(), 1);
    holder.process = Process {
        pid: u32::MAX / 2,
        ..Process::this()
    };
    fs::write(path, holder.to_bytes()).unwrap();
    assert!(!Claim::is_held(folder.path()));
    let _claim = Claim::take(folder.path()).unwrap();
    assert_eq!(names(folder.path()), ["claim-2.json"]);
}

#[test]
fn a_foreign_claim_is_taken_over_once_it_has_stood_still() {
    let folder = tempfile::tempdir().unwrap();
    foreign(folder.path(), 7);
    let (_claim, waited) = take_over(folder.path(), &short());
    assert!(waited >= Duration::from_millis(550), "{waited:?}");
    assert_eq!(names(folder.path()), ["claim-8.json"]);
}

#[test]
fn a_foreign_claim_that_gives_signs_of_life_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut holder) = foreign(folder.path(), 1);
    for sign in 0..40 {
        holder.signs = sign;
        fs::write(&path, holder.to_bytes()).unwrap();
        let tried = Claim::take_with(folder.path(), &short());
        assert!(matches!(tried, Err(RunError::Busy { .. })));
        thread::sleep(Duration::from_millis(25));
    }
}

#[test]
fn a_claim_gives_signs_of_life_and_says_how_far_the_run_is() {
    let folder = tempfile::tempdir().unwrap();
    let claim = Claim::take_with(folder.path(), &short()).unwrap();
    claim.begin_after(3);
    claim.done(5);
    let began = std::time::Instant::now();
    let holder = loop {
        let holder = Claim::holder(folder.path());
        if let Some(holder) = holder.filter(|holder| holder.signs > 2 && holder.round == 5) {
            break holder;
        }
        assert!(began.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(10));
    };
    assert_eq!((holder.from_round, holder.round), (3, 5));
    assert!(holder.seconds_per_round().unwrap() > 0.0);
    assert_eq!(holder.process, Process::this());
}

#[test]
fn whoever_lost_its_claim_is_told_who_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let lost = Claim::take(folder.path()).unwrap();
    // What another machine does that has not heard of this one.
    let (_, holder) = foreign(folder.path(), 2);
    fs::remove_file(&lost.path).unwrap();
    let error = lost.verify().unwrap_err().to_string();
    assert!(error.contains(&holder.process.host), "{error}");
    drop(lost);
    assert_eq!(names(folder.path()), ["claim-2.json"], "it is not touched");
}

#[test]
fn of_many_that_find_a_dead_claim_one_gets_the_run() {
    for round in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        if round % 2 == 1 {
            let (path, mut holder) = foreign(folder.path(), 1);
            holder.process = Process {
                pid: u32::MAX / 2,
                ..Process::this()
            };
            fs::write(path, holder.to_bytes()).unwrap();
        }
        let begin = Barrier::new(8);
        let attempt = || {
            begin.wait();
            Claim::take(folder.path()).ok()
        };
        let claims: Vec<Option<Claim>> = thread::scope(|scope| {
            let attempts: Vec<_> = (0..8).map(|_| scope.spawn(attempt)).collect();
            attempts
                .into_iter()
                .map(|one| one.join().unwrap())
                .collect()
        });
        assert_eq!(claims.iter().flatten().count(), 1, "{round}");
        assert_eq!(names(folder.path()).len(), 1);
    }
}

#[test]
fn a_claim_that_is_being_written_is_not_free() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name(1)), "").unwrap();
    assert!(Claim::is_held(folder.path()));
    let (_claim, waited) = take_over(folder.path(), &short());
    assert!(waited >= Duration::from_millis(550), "{waited:?}");
}
