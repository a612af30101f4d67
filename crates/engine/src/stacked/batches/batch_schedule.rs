//! The batches of some steps of all rows, on the host.

use crate::network::dropout::Dropout;

/// Batches of some steps; entry `step · R + row`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BatchSchedule {
    pub(crate) steps: usize,
    pub(crate) rows: usize,
    /// Indices per entry.
    pub(crate) width: usize,
    /// Examples, `[steps, R, width]`.
    pub(crate) indices: Vec<u32>,
    /// Examples per batch, `[steps, R]`; zero where a row has no step to do.
    pub(crate) counts: Vec<u32>,
    /// Rate and whether there is a step to do, `[steps, R, 2]`.
    pub(crate) scalars: Vec<f32>,
    /// Dropout keys, `[steps, R, 2]`; `None` if the network has no dropout.
    pub(crate) left_out: Option<Vec<u32>>,
    /// Whether there may be indices of variants.
    pub(crate) augmented: bool,
}

impl BatchSchedule {
    /// No row has anything to do.
    pub(crate) fn idle(steps: usize, rows: usize, width: usize) -> Self {
        Self {
            steps,
            rows,
            width,
            indices: vec![0; steps * rows * width],
            counts: vec![0; steps * rows],
            scalars: vec![0.0; 2 * steps * rows],
            left_out: None,
            augmented: false,
        }
    }

    /// One step in which every row sees its whole shard, without dropout.
    pub(crate) fn of_shards(shards: &[&[u32]]) -> Self {
        let longest = shards.iter().map(|shard| shard.len()).max().unwrap_or(0);
        let mut schedule = Self::idle(1, shards.len(), longest.max(1));
        for (row, shard) in shards.iter().enumerate() {
            schedule.put(0, row, shard, 0.0, None);
        }
        schedule
    }

    /// Has row `row` see `batch` in step `step`, at the learning rate `rate`.
    pub(crate) fn put(
        &mut self,
        step: usize,
        row: usize,
        batch: &[u32],
        rate: f32,
        dropout: Option<Dropout>,
    ) {
        let entry = step * self.rows + row;
        self.indices[entry * self.width..][..batch.len()].copy_from_slice(batch);
        self.counts[entry] = batch.len() as u32;
        self.scalars[2 * entry..][..2].copy_from_slice(&[rate, 1.0]);
        if let Some(dropout) = dropout {
            let entries = self.counts.len();
            let keys = self.left_out.get_or_insert_with(|| vec![0; 2 * entries]);
            keys[2 * entry..][..2].copy_from_slice(&dropout.key);
        }
    }

    /// One schedule with the rows of all `schedules`, one after the other. Rows of shorter schedules have nothing to do
    /// in the last steps.
    pub(crate) fn side_by_side(schedules: &[&Self]) -> Self {
        let most = |size: fn(&Self) -> usize| schedules.iter().map(|schedule| size(schedule)).max();
        let rows = schedules.iter().map(|schedule| schedule.rows).sum();
        let (steps, width) = (
            most(|schedule| schedule.steps),
            most(|schedule| schedule.width),
        );
        let mut all = Self::idle(steps.unwrap_or(0), rows, width.unwrap_or(1));
        let mut first_row = 0;
        for schedule in schedules {
            all.augmented |= schedule.augmented;
            for step in 0..schedule.steps {
                all.take_in(schedule, step, first_row);
            }
            first_row += schedule.rows;
        }
        all
    }

    /// Copies step `step` of `schedule` to the rows from `first_row` on.
    fn take_in(&mut self, schedule: &Self, step: usize, first_row: usize) {
        let (from, to) = (step * schedule.rows, step * self.rows + first_row);
        let batches = schedule.indices[from * schedule.width..].chunks_exact(schedule.width);
        let places = self.indices[to * self.width..].chunks_exact_mut(self.width);
        for (place, batch) in places.zip(batches).take(schedule.rows) {
            place[..schedule.width].copy_from_slice(batch);
        }
        self.counts[to..][..schedule.rows]
            .copy_from_slice(&schedule.counts[from..][..schedule.rows]);
        let pairs = 2 * schedule.rows;
        self.scalars[2 * to..][..pairs].copy_from_slice(&schedule.scalars[2 * from..][..pairs]);
        if let Some(keys) = &schedule.left_out {
            let entries = self.counts.len();
            let own = self.left_out.get_or_insert_with(|| vec![0; 2 * entries]);
            own[2 * to..][..pairs].copy_from_slice(&keys[2 * from..][..pairs]);
        }
    }

    /// The number of examples that each row sees in `step`; zero if it has no step to do.
    pub(crate) fn counts_of(&self, step: usize) -> &[u32] {
        &self.counts[step * self.rows..][..self.rows]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheets_of_any_steps_and_widths_stand_side_by_side() {
        let mut one = BatchSchedule::idle(2, 1, 3);
        one.put(0, 0, &[7, 8, 9], 0.5, None);
        one.put(1, 0, &[6], 0.25, None);
        let mut two = BatchSchedule::idle(1, 2, 1);
        let dropout = Dropout::new(1, 1, 4);
        two.put(0, 1, &[3], 2.0, Some(dropout));
        two.augmented = true;
        let all = BatchSchedule::side_by_side(&[&one, &two]);
        assert_eq!((all.steps, all.rows, all.width), (2, 3, 3));
        assert!(all.augmented);
        assert_eq!(
            all.indices,
            [7, 8, 9, 0, 0, 0, 3, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(all.counts, [3, 0, 1, 1, 0, 0]);
        assert_eq!(
            all.scalars,
            [0.5, 1.0, 0.0, 0.0, 2.0, 1.0, 0.25, 1.0, 0.0, 0.0, 0.0, 0.0]
        );
        let [first, second] = dropout.key;
        let keys = vec![0, 0, 0, 0, first, second, 0, 0, 0, 0, 0, 0];
        assert_eq!(all.left_out, Some(keys));
    }

    #[test]
    fn a_sheet_beside_nothing_stays_as_it_is() {
        let schedule = BatchSchedule::of_shards(&[&[4, 5], &[], &[1]]);
        assert_eq!(schedule.counts, [2, 0, 1]);
        assert_eq!(BatchSchedule::side_by_side(&[&schedule]), schedule);
    }
}
