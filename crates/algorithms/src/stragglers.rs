//! Clients that do not finish a round's local work in time.

use crate::error::AlgorithmError;
use meshfold_engine::{Amount, Key, Purpose, stream};
use rand::RngExt;
use rand::seq::index;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who falls behind, and what becomes of it.
///
/// # Source
/// DFedRW (Wang et al.), Section VI-A: system heterogeneity of h percent.
///
/// # Interpretation
/// `share · participants`, rounded half up, are drawn anew each round; where stragglers are dropped, at least one
/// participant stays. With `deadline_seconds` in place of `share`, whoever's work takes longer than that falls behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stragglers {
    /// Share of a round's participants (DFedRW: of its walks), in `[0, 1)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Seconds after which a round's local work is cut off; needs the clients' compute speeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<f64>,
    /// How much of its work a straggler of `share` still does.
    #[serde(default)]
    pub work: PartialWork,
    /// What becomes of a straggler; the method's own habit if absent: `partial` for `dfedrw`, `isolate` for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

/// How much of its work a straggler still does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartialWork {
    /// Uniformly 1 to all but one of its epochs, steps or visits.
    #[default]
    Uniform,
}

/// What becomes of a straggler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// What it has done so far counts.
    Partial,
    /// It is dropped for the round: it neither sends nor receives.
    Isolate,
    /// It sends nothing but receives the average: its row of the weights, as those of all others, is over those who sent
    /// and itself.
    Receive,
}

/// What a straggler manages to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// All of its work.
    InTime,
    /// So many of its epochs, steps or visits.
    Cut(u32),
    /// None that counts.
    Dropped,
}

/// The stragglers of a run, and how fast its clients are.
#[derive(Debug, Clone, Copy)]
pub struct StragglerContext<'a> {
    /// Who falls behind.
    pub stragglers: &'a Stragglers,
    /// What becomes of them.
    pub policy: Policy,
    /// Local steps that each client manages within the deadline, `[N]`, if there is one.
    pub steps_in_time: Option<&'a [u32]>,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the round, from 1.
    pub round: usize,
}

impl Stragglers {
    /// Checks every value.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`], naming the key.
    pub fn check(&self) -> Result<(), AlgorithmError> {
        let fault =
            |key, found: String, needed| Err(AlgorithmError::Setting { key, found, needed });
        match (self.share, self.deadline_seconds) {
            (Some(share), None) if !(0.0..1.0).contains(&share) => fault(
                "share",
                share.to_string(),
                "it must be at least 0 and below 1",
            ),
            (None, Some(seconds)) if !(seconds > 0.0 && seconds.is_finite()) => fault(
                "deadline_seconds",
                seconds.to_string(),
                "it must be positive and finite",
            ),
            (Some(_), None) | (None, Some(_)) => Ok(()),
            (Some(share), Some(_)) => fault(
                "share",
                share.to_string(),
                "deadline_seconds is given as well: one of the two says who falls behind",
            ),
            (None, None) => fault(
                "share",
                "missing".to_owned(),
                "share or deadline_seconds must say who falls behind",
            ),
        }
    }
}

impl StragglerContext<'_> {
    /// What becomes of each of `participants` if each has `whole(participant)` epochs, steps or visits to do, which
    /// are `steps` local steps.
    ///
    /// # Interpretation
    /// Of work cut off by a deadline, the share of its steps that were in time counts, rounded down to whole epochs,
    /// steps or visits; with none the participant is dropped.
    pub fn completions(&self, participants: &[Work]) -> Vec<Completion> {
        let key = Key {
            round: self.round as u64,
            ..Key::default()
        };
        let mut rng = stream(self.seed, Purpose::Stragglers, key);
        let mut completions = vec![Completion::InTime; participants.len()];
        match (self.stragglers.share, self.steps_in_time) {
            (Some(share), _) => {
                let late = (share * participants.len() as f64 + 0.5).floor() as usize;
                for at in index::sample(&mut rng, participants.len(), late.min(participants.len()))
                {
                    let whole = participants[at].whole;
                    completions[at] = match self.policy {
                        Policy::Partial if whole > 1 => Completion::Cut(rng.random_range(1..whole)),
                        Policy::Partial => Completion::InTime,
                        Policy::Isolate | Policy::Receive => Completion::Dropped,
                    };
                }
            }
            (None, Some(in_time)) => {
                for (completion, work) in completions.iter_mut().zip(participants) {
                    *completion = self.against(in_time[work.client as usize], work);
                }
            }
            (None, None) => {}
        }
        if !completions.is_empty()
            && completions
                .iter()
                .all(|completion| *completion == Completion::Dropped)
        {
            completions[rng.random_range(0..participants.len())] = Completion::InTime;
        }
        completions
    }

    /// The completion of `work` if its client manages `in_time` local steps.
    fn against(&self, in_time: u32, work: &Work) -> Completion {
        if in_time >= work.steps {
            return Completion::InTime;
        }
        let done = (u64::from(work.whole) * u64::from(in_time) / u64::from(work.steps)) as u32;
        match self.policy {
            Policy::Partial if done > 0 => Completion::Cut(done),
            _ => Completion::Dropped,
        }
    }
}

/// What a participant has to do in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Whose speed counts.
    pub client: u32,
    /// Epochs, steps or visits.
    pub whole: u32,
    /// The same in local steps.
    pub steps: u32,
}

impl Completion {
    /// `amount` as far as it is done.
    pub fn of(self, amount: Amount) -> Amount {
        match (self, amount) {
            (Self::InTime, amount) => amount,
            (Self::Dropped, _) | (_, Amount::Idle) => Amount::Idle,
            (Self::Cut(done), Amount::Steps(_)) => Amount::Steps(done),
            (Self::Cut(done), Amount::Epochs(_)) => Amount::Epochs(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(count: u32) -> Vec<Work> {
        (0..count)
            .map(|client| Work {
                client,
                whole: 5,
                steps: 50,
            })
            .collect()
    }

    fn by_share(share: f64) -> Stragglers {
        Stragglers {
            share: Some(share),
            deadline_seconds: None,
            work: PartialWork::Uniform,
            policy: None,
        }
    }

    fn straggler_context(
        stragglers: &Stragglers,
        policy: Policy,
        round: usize,
    ) -> StragglerContext<'_> {
        StragglerContext {
            stragglers,
            policy,
            steps_in_time: None,
            seed: 3,
            round,
        }
    }

    #[test]
    fn a_share_of_the_participants_falls_behind_rounded_half_up() {
        for (share, count, late) in [(0.5, 5, 3), (0.9, 20, 18), (0.5, 20, 10), (0.0, 7, 0)] {
            let stragglers = by_share(share);
            let completions =
                straggler_context(&stragglers, Policy::Partial, 1).completions(&work(count));
            let cut = completions
                .iter()
                .filter(|completion| matches!(completion, Completion::Cut(1..=4)));
            assert_eq!(cut.count(), late, "{share} of {count}");
        }
    }

    #[test]
    fn every_partial_amount_occurs_and_none_other() {
        let stragglers = by_share(0.9);
        let mut seen = [0; 6];
        for round in 1..200 {
            for completion in
                straggler_context(&stragglers, Policy::Partial, round).completions(&work(20))
            {
                if let Completion::Cut(done) = completion {
                    seen[done as usize] += 1;
                }
            }
        }
        // 199 rounds of 18 draws over four values: 895 each, with a deviation of 26.
        assert!(
            seen[1..5].iter().all(|count| (760..1030).contains(count)),
            "{seen:?}"
        );
        assert_eq!((seen[0], seen[5]), (0, 0));
    }

    #[test]
    fn one_participant_stays_where_stragglers_are_dropped() {
        let stragglers = by_share(0.9);
        for round in 1..20 {
            let completions =
                straggler_context(&stragglers, Policy::Isolate, round).completions(&work(2));
            assert_eq!(
                completions
                    .iter()
                    .filter(|completion| **completion == Completion::InTime)
                    .count(),
                1
            );
        }
    }

    #[test]
    fn a_deadline_cuts_the_slow() {
        let stragglers = Stragglers {
            share: None,
            deadline_seconds: Some(1.0),
            work: PartialWork::Uniform,
            policy: None,
        };
        let completions = |policy| {
            StragglerContext {
                steps_in_time: Some(&[100, 50, 49, 9]),
                ..straggler_context(&stragglers, policy, 1)
            }
            .completions(&work(4))
        };
        use Completion::{Cut, Dropped, InTime};
        assert_eq!(
            completions(Policy::Partial),
            [InTime, InTime, Cut(4), Dropped]
        );
        assert_eq!(
            completions(Policy::Isolate),
            [InTime, InTime, Dropped, Dropped]
        );
    }
}
