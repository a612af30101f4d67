//! What clients, or walkers, average after a round of random walks.

use super::DfedrwState;
use super::walk::{Source, Walks};
use crate::AlgorithmError;
use crate::aggregation::{aggregation_stream, messages_of, subset, weighted_means};
use crate::quantise::Heard;
use crate::round::Round;
use meshfold_engine::{Mixing, Stack};

impl DfedrwState {
    /// The models that each client averages, `[N]`; a client that does not keeps its own.
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
            let mut rng = aggregation_stream(round, client);
            let drawn = subset(&mut candidates, config.neighbours, &mut rng);
            if drawn.is_empty() {
                vec![client]
            } else {
                drawn
            }
        };
        (0..clients as u32).map(subset_of).collect()
    }

    /// (11), or (14) with quantised differences.
    pub(super) fn aggregate(
        &self,
        models: &mut Stack,
        walks: Walks,
        round: &mut Round<'_>,
    ) -> Result<(), AlgorithmError> {
        let subsets = self.subsets(&walks, round);
        let bytes = self.config.message_bytes(&self.setting);
        round.traffic.messages(messages_of(&subsets, bytes));
        let mixing = Mixing::new(&weighted_means(&subsets, &self.setting.shard_sizes)?);
        let Some(mut last) = walks.last else {
            unreachable!("clients that hold rows are left with models")
        };
        if let Some(quantise) = self.config.quantise {
            *models = quantise.average(&last, models, &Heard::of(&subsets), &mixing, round)?; // (14)
            return Ok(());
        }
        last.mix(&mixing)?; // (11)
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
            let mut rng = aggregation_stream(round, walker);
            let drawn = subset(&mut others, self.config.neighbours, &mut rng);
            if drawn.is_empty() {
                vec![walker]
            } else {
                drawn
            }
        };
        let subsets: Vec<Vec<u32>> = (0..walkers).map(subset_of).collect();
        let bytes = self.config.message_bytes(&self.setting);
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
        let mixing = Mixing::new(&weighted_means(&subsets, &examples)?);
        if let Some(quantise) = self.config.quantise {
            *models =
                quantise.average(&walks.models, models, &Heard::of(&subsets), &mixing, round)?;
            return Ok(());
        }
        walks.models.mix(&mixing)?;
        *models = walks.models;
        Ok(())
    }
}
