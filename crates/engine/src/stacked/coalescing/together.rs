//! Bouts of several runs carried out as one.

use crate::error::EngineError;
use crate::network::Network;
use crate::stacked::batches::sheet::Sheet;
use crate::stacked::device::memory::Memory;
use crate::stacked::gradients::sgd::MomentumFrom;
use crate::stacked::passes::steps::Scratch;
use crate::stacked::passes::workspace::block;
use crate::stacked::requests::bout::{Arenas, Bout, Job};
use crate::stacked::stack_ops::mix_sparse::mix_side_by_side;
use crate::stacked::stack_ops::rows::{collect_rows, spread_rows};
use burn_cubecl::tensor::CubeTensor;
use std::ops::Range;
use std::sync::Arc;

/// Most losses of bouts that are carried out as one.
const LOSSES: usize = 1 << 24;

/// A run's bout, by the run's number.
type Numbered = (u64, Bout);

/// Carries out bouts, in memory that is kept for the next.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// With the network that it is for.
    scratch: Option<(Arc<Network>, Scratch)>,
}

impl Together {
    /// Carries out `bouts`, those that are alike as one; activations take `bytes` a buffer at most.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn carry_out(
        &mut self,
        bouts: Vec<Numbered>,
        memory: &Memory,
        bytes: usize,
    ) -> Result<Vec<Numbered>, EngineError> {
        let mut groups = groups(bouts, memory.largest_buffer(), bytes);
        for group in &mut groups {
            let all_mix = group.iter().all(|(_, bout)| bout.arenas.mixing.is_some());
            if group.len() == 1 || !all_mix {
                group.iter_mut().for_each(|(_, bout)| bout.arenas.mix());
            }
            let bouts: Vec<&Bout> = group.iter().map(|(_, bout)| bout).collect();
            self.as_one(&bouts, memory, bytes)?;
            for (_, bout) in group {
                bout.arenas.mixing = None;
            }
        }
        Ok(groups.into_iter().flatten().collect())
    }

    /// Carries out `bouts` as one.
    fn as_one(
        &mut self,
        bouts: &[&Bout],
        memory: &Memory,
        bytes: usize,
    ) -> Result<(), EngineError> {
        let sheets: Vec<&Sheet> = bouts.iter().map(|bout| &bout.sheet).collect();
        let (first, rows) = (bouts[0], places(&sheets));
        let joined = (bouts.len() > 1).then(|| Sheet::side_by_side(&sheets));
        let sheet = joined.as_ref().unwrap_or(&first.sheet);
        let shape = block(&first.network, sheet.rows, sheet.width, bytes);
        let size = (sheet.rows, sheet.width, sheet.steps);
        let old = self.scratch.take();
        let old = old.filter(|(network, _)| network.has_the_layers_of(&first.network));
        let old = old.map(|(_, scratch)| scratch);
        let scratch = Scratch::fitting(old, memory, &first.network, size, shape);
        let (_, scratch) = self.scratch.insert((first.network.clone(), scratch));
        if let [alone] = bouts {
            return alone.make(memory, scratch, shape);
        }
        let width = first.network.layout().width();
        let arenas = gathered(bouts, sheet.rows, memory, width);
        let tallies = bouts.iter().map(|bout| &bout.tallies);
        let tallies: Vec<_> = tallies.zip(rows.iter().cloned()).collect();
        let job = Job {
            network: &first.network,
            examples: &first.examples,
            rule: first.rule,
            sheet,
            arenas: &arenas,
            tallies: &tallies,
        };
        job.make(memory, scratch, shape)?;
        spread(&arenas, bouts, width);
        Ok(())
    }
}

/// The rows of each of `sheets`, side by side.
fn places(sheets: &[&Sheet]) -> Vec<Range<usize>> {
    let mut next = 0;
    let mut place = |sheet: &&Sheet| {
        let first = next;
        next += sheet.rows;
        first..next
    };
    sheets.iter().map(&mut place).collect()
}

/// One of the arenas of every bout that has it, with its rows.
fn arenas_of<'a>(
    bouts: &[&'a Bout],
    of: fn(&Arenas) -> Option<&CubeTensor>,
) -> Vec<(&'a CubeTensor, usize)> {
    let own = |bout: &&'a Bout| of(&bout.arenas).map(|arena| (arena, bout.sheet.rows));
    bouts.iter().filter_map(own).collect()
}

/// What `bouts` work on, in arenas of all their `rows` rows. Their models are mixed on the way there: all, or none.
fn gathered<'a>(bouts: &[&'a Bout], rows: usize, memory: &Memory, width: usize) -> Arenas {
    let collect = |of: fn(&Arenas) -> Option<&CubeTensor>| {
        let arena = memory.floats(&[rows, width]);
        collect_rows(&arenas_of(bouts, of), &arena, width);
        arena
    };
    let first = bouts[0];
    let like = |of: fn(&Arenas) -> Option<&CubeTensor>| of(&first.arenas).map(|_| collect(of));
    let keeps = first.arenas.gradients.is_some();
    let mixing = |bout: &&'a Bout| Some((&bout.arenas.models, bout.arenas.mixing.clone()?));
    let to_mix: Vec<_> = bouts.iter().filter_map(mixing).collect();
    let models = if to_mix.len() == bouts.len() {
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

/// Gives every bout what has moved in the arenas of all.
fn spread(all: &Arenas, bouts: &[&Bout], width: usize) {
    if let Some(gradients) = &all.gradients {
        let own = arenas_of(bouts, |arenas| arenas.gradients.as_ref());
        return spread_rows(gradients, &own, width);
    }
    let models = arenas_of(bouts, |arenas| Some(&arenas.models));
    spread_rows(&all.models, &models, width);
    // All keep their velocities, or none does.
    let velocities = arenas_of(bouts, |arenas| arenas.velocities.as_ref());
    if let Some(all) = all.velocities.as_ref().filter(|_| !velocities.is_empty()) {
        spread_rows(all, &velocities, width);
    }
}

/// Bouts that can be carried out as one, in the order of their runs, within a buffer of `largest` bytes for the models.
fn groups(bouts: Vec<Numbered>, largest: u64, bytes: usize) -> Vec<Vec<Numbered>> {
    let mut groups: Vec<Vec<Numbered>> = Vec::new();
    for (number, bout) in bouts {
        let takes = |group: &&mut Vec<Numbered>| {
            go_together(&group[0].1, &bout, bytes) && have_room(group, &bout, largest)
        };
        match groups.iter_mut().find(takes) {
            Some(group) => group.push((number, bout)),
            None => groups.push(vec![(number, bout)]),
        }
    }
    groups
}

/// Whether the rows of two bouts can step together, with the bits that they have apart and without one waiting for batches
/// of more than twice its own.
fn go_together(one: &Bout, other: &Bout, bytes: usize) -> bool {
    let held = |bout: &Bout| {
        let Arenas {
            velocities,
            correction,
            anchor,
            gradients,
            ..
        } = &bout.arenas;
        [velocities, correction, anchor, gradients].map(Option::is_some)
    };
    let is_whole = |bout: &Bout| {
        let width = bout.sheet.width;
        block(&bout.network, 1, width, bytes).1 >= width
    };
    let widths = [one, other].map(|bout| bout.sheet.width);
    Arc::ptr_eq(&one.examples, &other.examples)
        && one.rule == other.rule
        && held(one) == held(other)
        && is_whole(one) == is_whole(other)
        && widths[0].abs_diff(widths[1]) <= widths[0].min(widths[1])
        && one.network.has_the_layers_of(&other.network)
}

/// Whether models and losses of `group` and `bout` fit in one buffer each.
fn have_room(group: &[Numbered], bout: &Bout, largest: u64) -> bool {
    let sheets = || {
        let others = group.iter().map(|(_, bout)| &bout.sheet);
        others.chain([&bout.sheet])
    };
    let rows: usize = sheets().map(|sheet| sheet.rows).sum();
    let steps = sheets().map(|sheet| sheet.steps).max().unwrap_or(0);
    let width = sheets().map(|sheet| sheet.width).max().unwrap_or(0);
    let losses = steps * rows * width * bout.network.positions();
    let floats = (rows * bout.network.layout().width()).max(losses);
    losses <= LOSSES && (floats * size_of::<f32>()) as u64 <= largest
}
