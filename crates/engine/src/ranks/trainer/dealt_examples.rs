//! Examples of rows, dealt to the ranks that hold them.

use super::RankedTrainer;
use crate::error::EngineError;
use crate::network::dropout::Dropout;
use crate::ranks::placement::Placement;
use crate::training::context::Context;
use crate::training::row_examples::{ExampleSet, RowSlopes, SeenExamples};
use std::borrow::Cow;
use std::sync::Arc;

/// What this rank's rows see.
pub(super) struct DealtExamples<'a> {
    pub(super) placement: Arc<Placement>,
    set: ExampleSet,
    /// The examples of its rows, training examples by their places among those that the rank holds.
    pub(super) lists: Vec<Cow<'a, [u32]>>,
    dropout: Vec<Option<Dropout>>,
    slopes: Vec<RowSlopes<'a>>,
}

impl DealtExamples<'_> {
    pub(super) fn seen(&self) -> SeenExamples<'_> {
        SeenExamples {
            set: self.set,
            rows: self.lists.iter().map(|list| &**list).collect(),
            dropout: self.dropout.clone(),
            slopes: self.slopes.clone(),
        }
    }
}

impl RankedTrainer {
    /// Deals examples of rows to the ranks: a row goes to the rank that holds its training examples, the others stay.
    ///
    /// # Errors
    /// [`EngineError::Setting`] if a row is to see training examples of two ranks, or of nobody.
    pub(super) fn dealt<'a>(
        &self,
        placement: &Arc<Placement>,
        context: &Context<'_>,
        seen: &SeenExamples<'a>,
    ) -> Result<DealtExamples<'a>, EngineError> {
        let rank = self.world.rank();
        let mut dealt = DealtExamples {
            placement: placement.clone(),
            set: seen.set,
            lists: Vec::new(),
            dropout: Vec::new(),
            slopes: Vec::new(),
        };
        if seen.set == ExampleSet::Train {
            let homes = self.world.placement(self.held.clients());
            let all = context.partition;
            let ranks = self.ranks_of_examples.get_or_init(|| {
                all.per_example(u32::MAX, |client| homes.owner(client as u32) as u32)
            });
            let of_example = |index: &u32| ranks[*index as usize % ranks.len()];
            let mut owners = Vec::with_capacity(seen.rows.len());
            for (row, list) in (0u32..).zip(&seen.rows) {
                let home = list.first().map_or(placement.owner(row) as u32, of_example);
                if home == u32::MAX || list.iter().any(|index| of_example(index) != home) {
                    return Err(EngineError::Setting {
                        what: "training examples of a row over several ranks",
                        found: format!("examples of row {row} that several ranks or none hold"),
                        needed: "those of one client",
                    });
                }
                owners.push(home);
            }
            dealt.placement = Arc::new(Placement::new(owners, self.world.ranks.count()));
        }
        let own = dealt.placement.of(rank);
        let place = |index: &u32| {
            let (example, variant) = (*index % self.examples, *index / self.examples);
            let place = self.own.binary_search(&example);
            let place = place.expect("this rank holds the examples of its clients") as u32;
            place + variant * self.own.len() as u32
        };
        let list = |row: &u32| match seen.set {
            ExampleSet::Train => Cow::from_iter(seen.rows[*row as usize].iter().map(place)),
            ExampleSet::Validation | ExampleSet::Test => Cow::from(seen.rows[*row as usize]),
        };
        dealt.lists = own.iter().map(list).collect();
        dealt.dropout = dealt.placement.pick(&seen.dropout, rank);
        dealt.slopes = dealt.placement.pick(&seen.slopes, rank);
        Ok(dealt)
    }
}
