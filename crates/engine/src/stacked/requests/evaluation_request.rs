//! Requests to judge models, and judging those of several runs as one.

use super::of_run::OfRun;
use crate::error::EngineError;
use crate::network::Network;
use crate::stacked::batches::examples::DeviceExamples;
use crate::stacked::batches::gather::gather;
use crate::stacked::batches::part::Part;
use crate::stacked::device::gpu::Gpu;
use crate::stacked::device::memory::{Memory, download};
use crate::stacked::losses::loss_kernels::LossKernels;
use crate::stacked::losses::scores::Scores;
use crate::stacked::passes::flow::Flow;
use crate::stacked::passes::own::own_of;
use crate::stacked::passes::workspace::{Workspace, block};
use crate::stacked::stack_ops::rows::{FirstRows, collect_rows};
use crate::training::score::Score;
use burn_cubecl::tensor::CubeTensor;
use std::sync::Arc;

/// The most examples on which a row is judged at once.
pub(crate) const CHUNK: usize = 1024;

/// Models to be judged.
#[derive(Debug)]
pub(crate) struct EvaluationRequest {
    pub(crate) network: Arc<Network>,
    pub(crate) examples: Arc<DeviceExamples>,
    /// `[R, P_pad]`.
    pub(crate) models: CubeTensor,
    pub(crate) rows: usize,
    pub(crate) lists: Lists,
}

/// Which examples rows are judged on.
#[derive(Debug, PartialEq)]
pub(crate) enum Lists {
    /// All rows on the same examples.
    Shared(Vec<u32>),
    /// Each row on its own examples, `[R]` lists.
    Own(Vec<Vec<u32>>),
}

impl Lists {
    fn are_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    fn all(&self) -> &[Vec<u32>] {
        match self {
            Self::Shared(list) => std::slice::from_ref(list),
            Self::Own(lists) => lists,
        }
    }
}

/// The examples of one chunk.
struct Chunk {
    /// `[R, width]`, or `[width]` if the rows share them.
    indices: Vec<u32>,
    /// `[R]`, or one count.
    counts: Vec<u32>,
}

impl EvaluationRequest {
    /// Loss and accuracy of every row; activations take at most `bytes` per buffer. Waits for the device.
    ///
    /// # Errors
    /// Errors of a user's own model.
    pub(crate) fn scores(&self, memory: &Memory, bytes: usize) -> Result<Vec<Score>, EngineError> {
        let (rows, network, examples) = (self.rows, &self.network, &self.examples);
        let (own, shards) = (self.lists.are_own(), self.lists.all());
        let longest = shards.iter().map(|shard| shard.len()).max().unwrap_or(0);
        if rows == 0 || longest == 0 {
            return Ok(vec![Score::default(); rows]);
        }
        let shape = block(network, rows, longest.min(CHUNK), bytes);
        let workspace = Workspace::new(memory, network, shape, !own, false);
        let (block_rows, width) = (shape.rows, shape.examples);
        let positions = network.positions();
        let (losses, hits) = (
            memory.floats(&[block_rows, width, positions]),
            memory.words(&[block_rows, width, positions]),
        );
        let chunks = longest.div_ceil(width);
        let (loss_sums, hit_sums) = (
            memory.floats(&[chunks, rows]),
            memory.words(&[chunks, rows]),
        );
        for chunk in 0..chunks {
            let Chunk { indices, counts } = cut(shards, chunk * width, width);
            let (indices, counts) = (memory.upload_words(&indices), memory.upload_words(&counts));
            for first_row in (0..rows).step_by(block_rows) {
                let part = Part {
                    first_row,
                    rows: block_rows.min(rows - first_row),
                    entry: if own { first_row } else { 0 },
                    own,
                    counts: &counts,
                    table: width,
                    first_example: 0,
                    losses: 0,
                    examples: width,
                };
                if own || first_row == 0 {
                    let readers = Part {
                        rows: if own { part.rows } else { 1 },
                        ..part
                    };
                    gather(examples, &indices, false, &workspace.input, &readers);
                }
                let flow = Flow {
                    network,
                    models: &self.models,
                    masks: None,
                    part: &part,
                };
                let by_burn;
                let outputs = match own_of(network) {
                    Some(own) => {
                        by_burn = workspace.pass(own, &flow, false)?.outputs;
                        &by_burn
                    }
                    None => {
                        workspace.forward(&flow);
                        workspace.last()
                    }
                };
                let kernels = LossKernels {
                    labels: &examples.labels,
                    indices: &indices,
                    positions,
                    losses: &losses,
                    hits: &hits,
                    backward: false,
                };
                kernels.launch(network.loss(), outputs, network.outputs(), &part);
                let scores = Scores {
                    losses: &losses,
                    hits: &hits,
                    positions,
                    loss_sums: &loss_sums,
                    hit_sums: &hit_sums,
                };
                scores.launch(&part, chunk * rows);
            }
        }
        let (loss_sums, hit_sums) = (download::<f32>(loss_sums), download::<u32>(hit_sums));
        let scores = (0..rows).map(|row| {
            let examples = shards[if own { row } else { 0 }].len();
            let count = (examples * positions).max(1) as f64;
            let chunks = || (row..loss_sums.len()).step_by(rows);
            Score {
                loss: chunks().map(|at| f64::from(loss_sums[at])).sum::<f64>() / count,
                accuracy: chunks().map(|at| f64::from(hit_sums[at])).sum::<f64>() / count,
            }
        });
        Ok(scores.collect())
    }

    /// Whether the rows of both can be judged as one.
    fn goes_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.examples, &other.examples)
            && !self.lists.are_own()
            && self.lists == other.lists
            && self.network.has_the_layers_of(&other.network)
    }
}

/// The scores of all `evaluations`. Compatible ones are judged as one, and fail as one.
pub(crate) fn judge(
    evaluations: Vec<OfRun<EvaluationRequest>>,
    gpu: &Gpu,
    bytes: usize,
) -> Vec<OfRun<Result<Vec<Score>, EngineError>>> {
    let memory = gpu.memory();
    let mut groups: Vec<Vec<OfRun<EvaluationRequest>>> = Vec::new();
    for evaluation in evaluations {
        let asked = &evaluation.item;
        let takes = |group: &&mut Vec<OfRun<EvaluationRequest>>| {
            let rows: usize = group.iter().map(|other| other.item.rows).sum();
            let floats = (rows + asked.rows) * asked.network.layout().width();
            group[0].item.goes_with(asked)
                && (floats * size_of::<f32>()) as u64 <= memory.largest_buffer()
        };
        match groups.iter_mut().find(takes) {
            Some(group) => group.push(evaluation),
            None => groups.push(vec![evaluation]),
        }
    }
    let mut all = Vec::new();
    for group in groups {
        let runs: Vec<u64> = group.iter().map(|request| request.run).collect();
        let failed = |error: EngineError| vec![Err(error); runs.len()];
        let scores = gpu.attempt(|| as_one(group, memory, bytes));
        let scores = scores.map_or_else(failed, |scores| scores.into_iter().map(Ok).collect());
        let of_run = |(run, item)| OfRun { run, item };
        all.extend(runs.into_iter().zip(scores).map(of_run));
    }
    all
}

/// The scores of each of `group`, whose rows are judged one after the other.
fn as_one(
    mut group: Vec<OfRun<EvaluationRequest>>,
    memory: &Memory,
    bytes: usize,
) -> Result<Vec<Vec<Score>>, EngineError> {
    let counts: Vec<usize> = group.iter().map(|request| request.item.rows).collect();
    if group.len() > 1 {
        let width = group[0].item.network.layout().width();
        let all = counts.iter().sum();
        let models = memory.floats(&[all, width]);
        let requests = group.iter().map(|request| &request.item);
        let first_rows = requests.map(|request| FirstRows {
            stack: &request.models,
            rows: request.rows,
        });
        let stacks: Vec<_> = first_rows.collect();
        collect_rows(&stacks, &models, width);
        (group[0].item.models, group[0].item.rows) = (models, all);
    }
    let mut scores = group[0].item.scores(memory, bytes)?.into_iter();
    let own = |rows: usize| scores.by_ref().take(rows).collect();
    Ok(counts.into_iter().map(own).collect())
}

/// The next `width` examples, from `first` on, of every shard.
fn cut(shards: &[Vec<u32>], first: usize, width: usize) -> Chunk {
    let mut chunk = Chunk {
        indices: vec![0; shards.len() * width],
        counts: Vec::with_capacity(shards.len()),
    };
    for (shard, indices) in shards.iter().zip(chunk.indices.chunks_exact_mut(width)) {
        let part = &shard[first.min(shard.len())..(first + width).min(shard.len())];
        indices[..part.len()].copy_from_slice(part);
        chunk.counts.push(part.len() as u32);
    }
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_of_different_length_are_cut_side_by_side() {
        let chunk = cut(&[vec![1, 2, 3, 4, 5], vec![6], vec![]], 3, 3);
        assert_eq!(
            (chunk.indices, chunk.counts),
            (vec![4, 5, 0, 0, 0, 0, 0, 0, 0], vec![2, 0, 0])
        );
    }
}
