//! Judging every row's model.

use super::flow::Flow;
use super::gather::gather;
use super::judgement::Judgement;
use super::memory::{cube, download};
use super::part::Part;
use super::scores::scores;
use super::trainer::Stacked;
use super::workspace::{Workspace, block};
use crate::error::EngineError;
use crate::learner::Context;
use crate::score::{Score, Split};
use crate::stack::Stack;

/// Most examples that a row is judged on at once.
pub(super) const CHUNK: usize = 1024;

/// The examples of one chunk.
struct Chunk {
    /// `[R, width]`, or `[width]` if the rows share them.
    indices: Vec<u32>,
    /// `[R]`, or one count.
    counts: Vec<u32>,
}

impl Stacked {
    /// Loss and accuracy of every row on `split`, or on its examples `subset`. Waits for the device.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn evaluate(
        &mut self,
        context: Context<'_>,
        stack: &Stack,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        let (examples, size) = match split {
            Split::Test => (&self.test, context.test.len()),
            Split::Train | Split::Shards(_) => (&self.train, context.train.len()),
        };
        let everything: Vec<u32>;
        let shards: Vec<&[u32]> = match (split, subset) {
            (Split::Shards(clients), _) => clients
                .iter()
                .map(|client| context.partition.shard(*client as usize))
                .collect(),
            (_, Some(subset)) => vec![subset],
            (_, None) => {
                everything = (0..size as u32).collect();
                vec![&everything]
            }
        };
        let (rows, network, memory) = (stack.rows(), context.network, self.gpu.memory());
        let own = matches!(split, Split::Shards(_));
        let longest = shards.iter().map(|shard| shard.len()).max().unwrap_or(0);
        if rows == 0 || longest == 0 {
            return Ok(vec![Score::default(); rows]);
        }
        let (block_rows, width) = block(network, rows, longest.min(CHUNK), self.workspace_bytes);
        let workspace = Workspace::new(memory, network, (block_rows, width), !own, false);
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
        let models = cube(stack.tensor());
        for chunk in 0..chunks {
            let Chunk { indices, counts } = cut(&shards, chunk * width, width);
            let (indices, counts) = (memory.upload_words(&indices), memory.upload_words(&counts));
            for first_row in (0..rows).step_by(block_rows) {
                let part = Part {
                    first_row,
                    rows: block_rows.min(rows - first_row),
                    entry: if own { first_row } else { 0 },
                    own,
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
                    gather(examples, (&indices, &counts), &workspace.input, &readers);
                }
                let flow = Flow {
                    network,
                    models: &models,
                    counts: &counts,
                    masks: None,
                    part: &part,
                };
                let by_burn;
                let outputs = match network.own_model() {
                    Some(own) => {
                        by_burn = workspace.pass(own, &flow, false)?.outputs;
                        &by_burn
                    }
                    None => {
                        workspace.forward(&flow);
                        workspace.last()
                    }
                };
                let judgement = Judgement {
                    labels: &examples.labels,
                    indices: &indices,
                    counts: &counts,
                    positions,
                    losses: &losses,
                    hits: &hits,
                    backward: false,
                };
                let outputs = (outputs, network.outputs());
                judgement.launch(network.loss(), outputs, &part);
                scores(
                    (&losses, &hits, &counts),
                    (&loss_sums, &hit_sums),
                    &part,
                    (chunk * rows, positions),
                );
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
}

/// The next `width` examples, from `first` on, of every shard.
fn cut(shards: &[&[u32]], first: usize, width: usize) -> Chunk {
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
        let chunk = cut(&[&[1, 2, 3, 4, 5], &[6], &[]], 3, 3);
        assert_eq!(
            (chunk.indices, chunk.counts),
            (vec![4, 5, 0, 0, 0, 0, 0, 0, 0], vec![2, 0, 0])
        );
    }
}
