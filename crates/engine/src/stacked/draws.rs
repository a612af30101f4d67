//! The batches of some steps of all rows, drawn on the host as for the processor, in tables on the device.

use super::dropout::Masks;
use super::memory::Memory;
use crate::batches::{Batches, Pass};
use crate::dropout::Dropout;
use crate::learner::Context;
use crate::network::Network;
use crate::work::{Amount, LocalWork, RowWork};
use burn_cubecl::tensor::CubeTensor;

/// Most indices that are uploaded at once.
const TABLE: usize = 1 << 22;

/// Draws the batches of one call.
pub(super) struct Draws<'a> {
    network: &'a Network,
    rows: Vec<Option<Batches<'a>>>,
    /// Steps that are left to the row with most of them.
    left: usize,
    /// Examples of the largest batch.
    width: usize,
    /// Steps per table.
    steps: usize,
}

/// Batches of some steps; entry `step · R + row`.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) steps: usize,
    pub(super) rows: usize,
    /// Indices per entry.
    pub(super) width: usize,
    /// Examples, `[steps, R, width]`.
    pub(super) indices: CubeTensor,
    /// Examples per batch, `[steps, R]`; zero where a row has no step to do.
    pub(super) counts: CubeTensor,
    /// Rate and whether there is a step to do, `[steps, R, 2]`.
    pub(super) scalars: CubeTensor,
    /// Keys of what a step leaves out, `[steps, R, 2]`, and one of the steps; nothing if the network leaves out none.
    left_out: Option<(CubeTensor, Dropout)>,
    host_counts: Vec<u32>,
}

impl<'a> Draws<'a> {
    /// Prepares to draw what `work` asks for; `tasks` are its rows, or what takes their place.
    pub(super) fn new(
        context: Context<'a>,
        passes: &'a mut [Pass],
        work: &LocalWork<'a>,
        tasks: &[RowWork],
    ) -> Self {
        let shard = |task: &RowWork| context.partition.shard(task.client as usize).len();
        let busy = || tasks.iter().filter(|task| task.amount != Amount::Idle);
        let width = busy()
            .map(|task| work.sgd.batch_on(shard(task)))
            .max()
            .unwrap_or(0)
            .max(1);
        let left = busy()
            .map(|task| work.sgd.steps_on(task.amount, shard(task)))
            .max()
            .unwrap_or(0) as usize;
        let rows: Vec<Option<Batches<'a>>> = passes
            .iter_mut()
            .zip(tasks)
            .enumerate()
            .map(|(row, (pass, task))| {
                (task.amount != Amount::Idle).then(|| context.batches(pass, task, work, row))
            })
            .collect();
        // Their losses are kept as well, of every position.
        let entry = rows.len() * width * context.network.positions();
        let steps = (TABLE / entry.max(1)).max(1);
        Self {
            network: context.network,
            rows,
            left,
            width,
            steps,
        }
    }

    /// Examples of the largest batch.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Most steps of a table.
    pub(super) fn steps(&self) -> usize {
        self.left.min(self.steps)
    }

    /// Draws the next steps, or says that all rows are finished.
    pub(super) fn next(&mut self, memory: &Memory) -> Option<Table> {
        let steps = self.steps();
        if steps == 0 {
            return None;
        }
        self.left -= steps;
        let entries = steps * self.rows.len();
        let mut indices = vec![0; entries * self.width];
        let (mut counts, mut scalars) = (vec![0; entries], vec![0.0; 2 * entries]);
        let (mut keys, mut any) = (Vec::new(), None);
        let mut batch = Vec::new();
        for (row, batches) in self.rows.iter_mut().enumerate() {
            let Some(batches) = batches else { continue };
            for step in 0..steps {
                let Some(plan) = batches.next(&mut batch) else {
                    break;
                };
                let entry = step * counts.len() / steps + row;
                indices[entry * self.width..][..batch.len()].copy_from_slice(&batch);
                counts[entry] = batch.len() as u32;
                scalars[2 * entry..][..2].copy_from_slice(&[plan.rate, 1.0]);
                if let Some(dropout) = plan.dropout(self.network) {
                    keys.resize(2 * entries, 0);
                    keys[2 * entry..][..2].copy_from_slice(&dropout.key());
                    any = Some(dropout);
                }
            }
        }
        Some(Table {
            steps,
            rows: self.rows.len(),
            width: self.width,
            indices: memory.upload_words(&indices),
            counts: memory.upload_words(&counts),
            scalars: memory.upload_floats(&scalars),
            left_out: any.map(|dropout| (memory.upload_words(&keys), dropout)),
            host_counts: counts,
        })
    }
}

impl Table {
    /// Examples that each row sees in `step`, zero where it has none to do.
    pub(super) fn counts_of(&self, step: usize) -> &[u32] {
        &self.host_counts[step * self.rows..][..self.rows]
    }

    /// What the steps leave out.
    pub(super) fn masks(&self) -> Option<Masks<'_>> {
        self.left_out.as_ref().map(|(keys, dropout)| Masks {
            keys,
            dropout: *dropout,
        })
    }

    /// One step in which every row sees the whole of its shard, leaving out nothing.
    pub(super) fn of_shards(memory: &Memory, shards: &[&[u32]]) -> Self {
        let width = shards
            .iter()
            .map(|shard| shard.len())
            .max()
            .unwrap_or(0)
            .max(1);
        let mut indices = vec![0; shards.len() * width];
        for (shard, indices) in shards.iter().zip(indices.chunks_exact_mut(width)) {
            indices[..shard.len()].copy_from_slice(shard);
        }
        let counts: Vec<u32> = shards.iter().map(|shard| shard.len() as u32).collect();
        Self {
            steps: 1,
            rows: shards.len(),
            width,
            indices: memory.upload_words(&indices),
            counts: memory.upload_words(&counts),
            scalars: memory.upload_floats(&[]),
            left_out: None,
            host_counts: counts,
        }
    }

    /// Steps of `rows` rows that see `counts` of at most `width` examples.
    #[cfg(test)]
    pub(super) fn of_counts(memory: &Memory, rows: usize, width: usize, counts: &[u32]) -> Self {
        Self {
            steps: counts.len() / rows,
            rows,
            width,
            indices: memory.upload_words(&[]),
            counts: memory.upload_words(counts),
            scalars: memory.upload_floats(&[]),
            left_out: None,
            host_counts: counts.to_vec(),
        }
    }
}
