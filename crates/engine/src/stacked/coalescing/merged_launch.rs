//! Carries out requests of several runs as one.

use crate::error::EngineError;
use crate::network::Network;
use crate::stacked::batches::batch_schedule::BatchSchedule;
use crate::stacked::device::memory::Memory;
use crate::stacked::gradients::sgd::MomentumFrom;
use crate::stacked::passes::steps::{PassScratch, ScheduleSize};
use crate::stacked::passes::tallies::RowTallies;
use crate::stacked::passes::workspace::block;
use crate::stacked::requests::of_run::OfRun;
use crate::stacked::requests::train_batch_request::{Arenas, Job, TrainBatchRequest};
use crate::stacked::stack_ops::mix_sparse::{Unmixed, mix_side_by_side};
use crate::stacked::stack_ops::rows::{FirstRows, collect_rows, spread_rows};
use burn_cubecl::tensor::CubeTensor;
use std::ops::Range;
use std::sync::Arc;

/// Most losses of requests that are carried out as one.
const LOSSES: usize = 1 << 24;

/// A run's request.
type Asked = OfRun<TrainBatchRequest>;

/// Carries out requests, in memory that is kept for the next.
#[derive(Debug, Default)]
pub(crate) struct MergedLaunch {
    /// The scratch memory, with the network that it is for.
    scratch: Option<(Arc<Network>, PassScratch)>,
}

impl MergedLaunch {
    /// Carries out `requests`, compatible ones as one; activations take at most `bytes` per buffer.
    ///
    /// # Errors
    /// Errors of a user's own model.
    pub(crate) fn carry_out(
        &mut self,
        requests: Vec<Asked>,
        memory: &Memory,
        bytes: usize,
    ) -> Result<Vec<Asked>, EngineError> {
        let mut groups = groups(requests, memory.largest_buffer(), bytes);
        for group in &mut groups {
            let mixes = |asked: &Asked| asked.item.arenas.mixing.is_some();
            let all_mix = group.iter().all(mixes);
            if group.len() == 1 || !all_mix {
                group.iter_mut().for_each(|asked| asked.item.arenas.mix());
            }
            let requests: Vec<_> = group.iter().map(|asked| &asked.item).collect();
            self.as_one(&requests, memory, bytes)?;
            for asked in group {
                asked.item.arenas.mixing = None;
            }
        }
        Ok(groups.into_iter().flatten().collect())
    }

    /// Carries out `requests` as one.
    fn as_one(
        &mut self,
        requests: &[&TrainBatchRequest],
        memory: &Memory,
        bytes: usize,
    ) -> Result<(), EngineError> {
        let schedules: Vec<&BatchSchedule> =
            requests.iter().map(|request| &request.schedule).collect();
        let (first, rows) = (requests[0], places(&schedules));
        let joined = (requests.len() > 1).then(|| BatchSchedule::side_by_side(&schedules));
        let schedule = joined.as_ref().unwrap_or(&first.schedule);
        let shape = block(&first.network, schedule.rows, schedule.width, bytes);
        let size = ScheduleSize::of(schedule);
        let old = self.scratch.take();
        let old = old.filter(|(network, _)| network.has_the_layers_of(&first.network));
        let old = old.map(|(_, scratch)| scratch);
        let scratch = PassScratch::fitting(old, memory, &first.network, size, shape);
        let (_, scratch) = self.scratch.insert((first.network.clone(), scratch));
        if let [alone] = requests {
            return alone.make(memory, scratch, shape);
        }
        let width = first.network.layout().width();
        let arenas = gathered(requests, schedule.rows, memory, width);
        let tallies = requests.iter().map(|request| &request.tallies);
        let of_rows = |(tallies, rows)| RowTallies { tallies, rows };
        let tallies: Vec<_> = tallies.zip(rows).map(of_rows).collect();
        let job = Job {
            network: &first.network,
            examples: &first.examples,
            rule: first.rule,
            layers: first.layers.as_ref(),
            schedule,
            arenas: &arenas,
            tallies: &tallies,
        };
        job.make(memory, scratch, shape)?;
        spread(&arenas, requests, width);
        Ok(())
    }
}

/// The rows of each of `schedules`, side by side.
fn places(schedules: &[&BatchSchedule]) -> Vec<Range<usize>> {
    let mut next = 0;
    let mut place = |schedule: &&BatchSchedule| {
        let first = next;
        next += schedule.rows;
        first..next
    };
    schedules.iter().map(&mut place).collect()
}

/// The rows of one kind of arena, of every request that has it.
fn arenas_of<'a>(
    requests: &[&'a TrainBatchRequest],
    of: fn(&Arenas) -> Option<&CubeTensor>,
) -> Vec<FirstRows<'a>> {
    let own = |request: &&'a TrainBatchRequest| {
        of(&request.arenas).map(|stack| FirstRows {
            stack,
            rows: request.schedule.rows,
        })
    };
    requests.iter().filter_map(own).collect()
}

/// Gathers the arenas of `requests` into arenas of all their `rows` rows. Models that wait for mixing are mixed on the
/// way; either all wait or none.
fn gathered<'a>(
    requests: &[&'a TrainBatchRequest],
    rows: usize,
    memory: &Memory,
    width: usize,
) -> Arenas {
    let collect = |of: fn(&Arenas) -> Option<&CubeTensor>| {
        let arena = memory.floats(&[rows, width]);
        collect_rows(&arenas_of(requests, of), &arena, width);
        arena
    };
    let first = requests[0];
    let like = |of: fn(&Arenas) -> Option<&CubeTensor>| of(&first.arenas).map(|_| collect(of));
    let keeps = first.arenas.gradients.is_some();
    let mixing = |request: &&'a TrainBatchRequest| {
        Some(Unmixed {
            stack: &request.arenas.models,
            matrix: request.arenas.mixing.clone()?,
        })
    };
    let to_mix: Vec<_> = requests.iter().filter_map(mixing).collect();
    let models = if to_mix.len() == requests.len() {
        let arena = memory.floats(&[rows, width]);
        mix_side_by_side(&to_mix, &arena);
        arena
    } else {
        collect(|arenas| Some(&arenas.models))
    };
    Arenas {
        models,
        mixing: None,
        velocities: match first.rule.first {
            MomentumFrom::Nothing => None,
            MomentumFrom::Zero => Some(memory.floats(&[rows, width])),
            MomentumFrom::Velocity => like(|arenas| arenas.velocities.as_ref()),
        },
        correction: like(|arenas| arenas.correction.as_ref()),
        anchor: like(|arenas| arenas.anchor.as_ref()),
        gradients: keeps.then(|| memory.zeros(rows, width)),
    }
}

/// Copies what has changed in the common arenas back to every request.
fn spread(all: &Arenas, requests: &[&TrainBatchRequest], width: usize) {
    if let Some(gradients) = &all.gradients {
        let own = arenas_of(requests, |arenas| arenas.gradients.as_ref());
        return spread_rows(gradients, &own, width);
    }
    let models = arenas_of(requests, |arenas| Some(&arenas.models));
    spread_rows(&all.models, &models, width);
    // All keep their velocities, or none does.
    let velocities = arenas_of(requests, |arenas| arenas.velocities.as_ref());
    if let Some(all) = all.velocities.as_ref().filter(|_| !velocities.is_empty()) {
        spread_rows(all, &velocities, width);
    }
}

/// Groups of requests that can be carried out as one, in the order of their runs, with models of at most `largest`
/// bytes.
fn groups(requests: Vec<Asked>, largest: u64, bytes: usize) -> Vec<Vec<Asked>> {
    let mut groups: Vec<Vec<Asked>> = Vec::new();
    for asked in requests {
        let request = &asked.item;
        let takes = |group: &&mut Vec<Asked>| {
            go_together(&group[0].item, request, bytes) && have_room(group, request, largest)
        };
        match groups.iter_mut().find(takes) {
            Some(group) => group.push(asked),
            None => groups.push(vec![asked]),
        }
    }
    groups
}

/// Whether the rows of two requests can step together: with the same bits as alone, and with batches of which the
/// larger is at most twice the smaller.
fn go_together(one: &TrainBatchRequest, other: &TrainBatchRequest, bytes: usize) -> bool {
    let held = |request: &TrainBatchRequest| {
        let Arenas {
            velocities,
            correction,
            anchor,
            gradients,
            ..
        } = &request.arenas;
        [velocities, correction, anchor, gradients].map(Option::is_some)
    };
    let is_whole = |request: &TrainBatchRequest| {
        let width = request.schedule.width;
        block(&request.network, 1, width, bytes).examples >= width
    };
    let widths = [one, other].map(|request| request.schedule.width);
    Arc::ptr_eq(&one.examples, &other.examples)
        && one.rule == other.rule
        && one.layers == other.layers
        && one.schedule.augmented == other.schedule.augmented
        && held(one) == held(other)
        && is_whole(one) == is_whole(other)
        && widths[0].abs_diff(widths[1]) <= widths[0].min(widths[1])
        && one.network.has_the_layers_of(&other.network)
}

/// Whether models and losses of `group` and `request` fit in one buffer each.
fn have_room(group: &[Asked], request: &TrainBatchRequest, largest: u64) -> bool {
    let schedules = || {
        let others = group.iter().map(|asked| &asked.item.schedule);
        others.chain([&request.schedule])
    };
    let rows: usize = schedules().map(|schedule| schedule.rows).sum();
    let steps = schedules()
        .map(|schedule| schedule.steps)
        .max()
        .unwrap_or(0);
    let width = schedules()
        .map(|schedule| schedule.width)
        .max()
        .unwrap_or(0);
    let losses = steps * rows * width * request.network.positions();
    let floats = (rows * request.network.layout().width()).max(losses);
    losses <= LOSSES && (floats * size_of::<f32>()) as u64 <= largest
}
