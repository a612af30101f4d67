//! What clients, or walkers, average after a round of random walks.

use super::DfedrwState;
use super::walk::{Source, Walks};
use crate::AlgorithmError;
use crate::aggregation::{aggregation_stream, average, messages_of, subset};
use crate::quantise::bytes_of_message;
use crate::round::Round;
use meshfold_engine::Stack;

impl DfedrwState {
    /// The models that each client averages, `[N]`; a client that does not average has its own alone.
    fn subsets(&self, walks: &Walks, round: &Round<'_>) -> Vec<Vec<u32>> {
        let (config, clients) = (&self.config, self.setting.clients);
        let mut ends = walks.at.clone();
        ends.retain(|client| round.alive[*client as usize]);
        ends.sort_unstable();
        ends.dedup();
        let aggregating = config.aggregators.chosen(clients, &ends, round);
        let subset_of = |client: u32| {
            if !aggregating[client as usize] {
                return vec![client];
            }
            let mut candidates = match config.from {
                Source::Neighbours => {
                    let mut around = round.overlay().neighbours(client as usize).to_vec();
                    around.extend(config.include_self.then_some(client));
                    around
                }
                Source::Visited => walks.visited.clone(),
                Source::WalkEnds => ends.clone(),
            };
            if config.from != Source::Neighbours && !config.include_self {
                candidates.retain(|other| *other != client);
            }
            self.drawn(client, &mut candidates, round)
        };
        (0..clients as u32).map(subset_of).collect()
    }

    /// The models that `row` averages, drawn from `candidates`; its own if there are none.
    fn drawn(&self, row: u32, candidates: &mut Vec<u32>, round: &Round<'_>) -> Vec<u32> {
        let mut rng = aggregation_stream(round, row);
        let drawn = subset(candidates, self.config.neighbours, &mut rng);
        if drawn.is_empty() { vec![row] } else { drawn }
    }

    /// (11), or (14) with quantised differences.
    pub(super) fn aggregate(
        &self,
        models: &mut Stack,
        walks: Walks,
        round: &mut Round<'_>,
    ) -> Result<(), AlgorithmError> {
        let subsets = self.subsets(&walks, round);
        let bytes = bytes_of_message(self.config.quantise, &self.setting);
        round.traffic.messages(messages_of(&subsets, bytes));
        let Some(mut last) = walks.last else {
            unreachable!("clients that hold rows are left with models")
        };
        let before = self.config.quantise.map(|quantise| (quantise, &*models));
        average(
            &mut last,
            before,
            &subsets,
            &self.setting.shard_sizes,
            round,
        )?; // (11), (14)
        *models = last;
        Ok(())
    }

    /// Section VI-F: every walk end averages the models of the others.
    pub(super) fn aggregate_walkers(
        &self,
        models: &mut Stack,
        mut walks: Walks,
        round: &mut Round<'_>,
    ) -> Result<(), AlgorithmError> {
        let walkers = walks.at.len() as u32;
        let waits = |walker: u32| !round.alive[walks.at[walker as usize] as usize];
        let subset_of = |walker: u32| {
            if waits(walker) {
                return vec![walker];
            }
            let own = self.config.include_self;
            let mut others: Vec<u32> = (0..walkers)
                .filter(|other| !waits(*other) && (own || *other != walker))
                .collect();
            self.drawn(walker, &mut others, round)
        };
        let subsets: Vec<Vec<u32>> = (0..walkers).map(subset_of).collect();
        let bytes = bytes_of_message(self.config.quantise, &self.setting);
        let mut messages = messages_of(&subsets, bytes);
        for message in &mut messages {
            message.from = walks.at[message.from as usize];
            message.to = walks.at[message.to as usize];
        }
        messages.retain(|message| message.from != message.to);
        round.traffic.messages(messages);
        let examples: Vec<usize> = walks
            .at
            .iter()
            .map(|client| self.setting.shard_sizes[*client as usize])
            .collect();
        let before = self.config.quantise.map(|quantise| (quantise, &*models));
        average(&mut walks.models, before, &subsets, &examples, round)?;
        *models = walks.models;
        Ok(())
    }
}
