//! Averages over some of a client's neighbours.

use crate::error::AlgorithmError;
use crate::quantise::{Quantise, UnlinkedRows};
use crate::round::{Forecast, Round, Setting, messages_over};
use crate::traffic::Message;
use crate::training::Training;
use meshfold_engine::{Mixing, Purpose, Stack};
use meshfold_topology::{MixingMatrix, Overlay};
use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Aggregation over a random subset of each client's neighbours, weighted by examples.
///
/// # Source
/// DFedRW (Wang et al.), (9) and Section VI-B: the baselines aggregate 25 % of the devices.
///
/// # Interpretation
/// The subset is drawn uniformly anew for each client and round; the client itself is among those that may be drawn if
/// `include_self`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartialAggregation {
    /// Most models that a client averages, `|N_A(i)|`.
    pub neighbours: usize,
    /// Whether its own model may be among them.
    #[serde(default = "yes")]
    pub include_self: bool,
}

fn yes() -> bool {
    true
}

impl PartialAggregation {
    /// Checks every value.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`].
    pub fn check(self) -> Result<(), AlgorithmError> {
        if self.neighbours > 0 {
            return Ok(());
        }
        let needed = "a client averages at least one model";
        Err(AlgorithmError::setting("aggregation.neighbours", 0, needed))
    }

    /// Expected messages of a round.
    pub fn messages(self, overlay: &Overlay) -> f64 {
        (0..overlay.nodes())
            .map(|node| {
                messages_to(
                    overlay.degree(node),
                    Some(self.neighbours),
                    self.include_self,
                )
            })
            .sum()
    }

    /// The clients that each one averages in this round, `[N]`.
    pub fn subsets(self, round: &Round<'_>) -> Vec<Vec<u32>> {
        let overlay = round.overlay();
        let mut subsets = Vec::with_capacity(overlay.nodes());
        for node in 0..overlay.nodes() {
            let mut candidates = overlay.neighbours(node).to_vec();
            if self.include_self || candidates.is_empty() {
                candidates.push(node as u32);
            }
            let mut rng = aggregation_stream(round, node as u32);
            subsets.push(subset(&mut candidates, Some(self.neighbours), &mut rng));
        }
        subsets
    }
}

/// Expected messages to a client that averages at most `most` of `others`, its own model being drawn like theirs if
/// `include_self`.
pub fn messages_to(others: usize, most: Option<usize>, include_self: bool) -> f64 {
    let candidates = others + usize::from(include_self);
    let drawn = most.map_or(candidates, |most| most.min(candidates));
    (drawn * others) as f64 / candidates.max(1) as f64
}

/// `w <- W w`, or with `aggregation` the mean over some neighbours; shows the models and counts the messages.
pub fn exchange(
    models: &mut Stack,
    round: &mut Round<'_>,
    aggregation: Option<PartialAggregation>,
    setting: &Setting,
) -> Result<(), AlgorithmError> {
    round.show(models);
    let Some(aggregation) = aggregation else {
        return round.mix(models, setting.model_bytes());
    };
    let subsets = aggregation.subsets(round);
    let messages = messages_of(&subsets, setting.model_bytes());
    round.traffic.messages(messages);
    average(models, None, &subsets, &setting.shard_sizes, round)
}

/// Replaces row `i` of `models` by the mean over the rows `subsets[i]`, weighted by `examples`. With `quantised`,
/// clients send quantised differences from the given rows instead.
pub fn average(
    models: &mut Stack,
    quantised: Option<(Quantise, &Stack)>,
    subsets: &[Vec<u32>],
    examples: &[usize],
    round: &Round<'_>,
) -> Result<(), AlgorithmError> {
    let mixing = Mixing::new(&weighted_means(subsets, examples)?);
    match quantised {
        Some((quantise, before)) => {
            *models = quantise.average(
                models,
                before,
                &UnlinkedRows::of_senders(subsets),
                &mixing,
                round,
            )?;
        }
        None => models.mix(&mixing)?,
    }
    Ok(())
}

/// The forecast if all clients train as `training` says and send messages of `bytes` to the neighbours that average
/// them.
pub fn forecast(
    aggregation: Option<PartialAggregation>,
    training: &Training,
    setting: &Setting,
    overlay: Option<&Overlay>,
    bytes: u64,
) -> Forecast {
    let messages = overlay.map_or(0.0, |overlay| match aggregation {
        Some(aggregation) => aggregation.messages(overlay),
        None => messages_over(overlay) as f64,
    });
    Forecast {
        local_steps: training.steps_of_all(setting),
        bytes: (messages * bytes as f64).round() as u64,
    }
}

/// The random stream from which client `client` draws the models that it averages.
pub fn aggregation_stream(round: &Round<'_>, client: u32) -> ChaCha8Rng {
    round.stream(Purpose::Aggregation, client, 0)
}

/// At most `most` of `candidates`, drawn without replacement, ascending.
pub fn subset(candidates: &mut Vec<u32>, most: Option<usize>, rng: &mut ChaCha8Rng) -> Vec<u32> {
    candidates.sort_unstable();
    let most = most.unwrap_or(candidates.len());
    if most >= candidates.len() {
        return std::mem::take(candidates);
    }
    let mut drawn: Vec<u32> = index::sample(rng, candidates.len(), most)
        .iter()
        .map(|at| candidates[at])
        .collect();
    drawn.sort_unstable();
    drawn
}

/// Row `i` is the mean over the models `subsets[i]` weighted by `examples` (9).
pub fn weighted_means(
    subsets: &[Vec<u32>],
    examples: &[usize],
) -> Result<MixingMatrix, AlgorithmError> {
    let rows = subsets.iter().map(|subset| {
        let all: usize = subset.iter().map(|client| examples[*client as usize]).sum();
        subset
            .iter()
            .map(|client| (*client, examples[*client as usize] as f64 / all as f64))
            .collect()
    });
    Ok(MixingMatrix::from_rows(examples.len(), rows.collect())?)
}

/// One message of `bytes` to each `i` from every other member of `subsets[i]`.
pub fn messages_of(subsets: &[Vec<u32>], bytes: u64) -> Vec<Message> {
    (0..)
        .zip(subsets)
        .flat_map(|(to, subset)| {
            subset
                .iter()
                .filter(move |from| **from != to)
                .map(move |from| Message {
                    from: *from,
                    to,
                    bytes,
                })
        })
        .collect()
}
