//! One run over the ranks that `mpirun` or `srun` started (feature `mpi`).

use std::path::Path;
use std::sync::OnceLock;

use meshfold_data::{DataFolder, Examples};
use meshfold_engine::{Device, Ranks, Sent, WeakRanks};
use meshfold_experiment::{RunPlan, SharedDatasets, expect_same_plans, follow};

use crate::arguments::DeviceArguments;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::terminal;

/// The ranks of this process, kept so that all of them can be ended.
static RANKS: OnceLock<WeakRanks> = OnceLock::new();

/// The ranks that this process was started with; `None` if it was started alone, or by a program without the feature.
/// All but the first are silent from here on.
///
/// # Errors
/// [`Failure::Refused`] if MPI cannot be used.
pub(crate) fn of_this_command() -> Result<Option<Ranks>, Failure> {
    #[cfg(feature = "mpi")]
    let ranks = Ranks::of_mpi()?;
    #[cfg(not(feature = "mpi"))]
    let ranks: Option<Ranks> = None;
    #[cfg(not(feature = "mpi"))]
    if let Some(count) = processes_of_mpi(|name| std::env::var(name).ok()) {
        tracing::warn!(
            "MPI started {count} processes, but this program was built without MPI: each of them works by itself. For one run over several \
             processes, build it with `--features mpi`"
        );
    }
    if let Some(ranks) = &ranks {
        RANKS.get_or_init(|| ranks.downgrade());
        if !ranks.leads() {
            terminal::silence();
        }
    }
    Ok(ranks)
}

/// How many processes MPI started, as its launcher tells the first of them; `None` if it started one, or if this is another of them.
#[cfg(not(feature = "mpi"))]
fn processes_of_mpi(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    // OpenMPI; MPICH and others with its launcher.
    let launchers = [
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
        ("PMI_SIZE", "PMI_RANK"),
    ];
    let number = |name: &str| variable(name)?.parse::<usize>().ok();
    let mut counts = launchers.into_iter().filter_map(|(count, rank)| {
        let is_first = number(rank) == Some(0);
        number(count).filter(|count| *count > 1 && is_first)
    });
    counts.next()
}

/// Ends all ranks after a bug of this one, if there are any: the others would wait for it, and may be reading its rows.
pub(crate) fn end_after_bug() {
    if let Some(ranks) = RANKS.get() {
        ranks.abort("it met a bug");
    }
}

/// The device of the command: over all ranks if there are several.
///
/// # Errors
/// [`Failure::Refused`] if the program or the machine lacks it; of several ranks that is rank 0's to say.
pub(crate) fn device(arguments: &DeviceArguments) -> Result<Device, Failure> {
    let Some(ranks) = of_this_command()? else {
        return arguments.open();
    };
    match arguments.open_over(ranks.clone()) {
        Ok(device) => Ok(device),
        Err(failure) if ranks.leads() => Err(failure),
        Err(Failure::OfRankZero) => Err(Failure::OfRankZero),
        // Rank 0 reports what all ranks refuse. It waits for nobody: no rank has begun anything.
        Err(_) => Err(Failure::Incomplete),
    }
}

/// Checks that all ranks have planned the same; `planned` is the plan of this one.
///
/// # Errors
/// On rank 0 why it has no plans, or [`Failure::Refused`] if another one has others; on all others [`Failure::OfRankZero`].
pub(crate) fn agreed<T>(
    device: &Device,
    planned: Result<T, Failure>,
    plans: impl Fn(&T) -> &[RunPlan],
) -> Result<T, Failure> {
    let same = expect_same_plans(device, planned.as_ref().ok().map(plans));
    if same.is_err() && device.ranks().is_some_and(|ranks| !ranks.leads()) {
        return Err(Failure::OfRankZero);
    }
    let planned = planned?;
    same.map_err(|rank| {
        Failure::refused(format_args!(
            "rank {rank} has planned other runs than rank 0: start all ranks from the same program, on machines with the same \
             instructions (or with `--cpu avx2`) or the same GPUs, with the same files and arguments"
        ))
    })?;
    Ok(planned)
}

/// Takes part in the runs of rank 0, whose results go to `results`.
///
/// # Errors
/// Never: a rank that cannot go on ends all of them.
pub(crate) fn take_part(
    results: &Path,
    device: &Device,
    plans: &[RunPlan],
    folder: &DataFolder,
) -> Result<(), Failure> {
    let _asked = Interruption::listen()?;
    let datasets = SharedDatasets::new(plans, folder);
    let data = |index, see: &mut dyn FnMut(&Examples)| datasets.in_pieces(index, see);
    if let (Err(error), Some(ranks)) = (follow(plans, results, device, data), device.ranks()) {
        ranks.abort(&error.to_string());
    }
    device.ranks().map(sent_by_all);
    Ok(())
}

/// The messages and bytes that all ranks have sent each other in this command. Every rank calls it when its runs are
/// over.
pub(crate) fn sent_by_all(ranks: &Ranks) -> Sent {
    let own = ranks.sent();
    let all = ranks.gather([own.messages, own.bytes, own.bytes_in_place]);
    let sum = |of: usize| all.iter().map(|rank| rank[of]).sum();
    Sent {
        messages: sum(0),
        bytes: sum(1),
        bytes_in_place: sum(2),
    }
}

#[cfg(all(test, not(feature = "mpi")))]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_processes_knows_how_many_there_are() {
        let told = |variables: &[(&str, &str)]| {
            processes_of_mpi(|name| {
                let mut all = variables.iter();
                all.find(|(known, _)| *known == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        let of_open_mpi = |count, rank| {
            told(&[
                ("OMPI_COMM_WORLD_SIZE", count),
                ("OMPI_COMM_WORLD_RANK", rank),
            ])
        };
        assert_eq!(of_open_mpi("3", "0"), Some(3));
        assert_eq!((of_open_mpi("3", "1"), of_open_mpi("1", "0")), (None, None));
        assert_eq!(told(&[("PMI_SIZE", "4"), ("PMI_RANK", "0")]), Some(4));
        assert_eq!(told(&[]), None);
    }
}
