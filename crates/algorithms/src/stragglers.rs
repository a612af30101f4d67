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
/// participant stays. With `deadline_seconds` in place of `share`, whoever's work takes longer than that falls behind. A walk of DFedRW
/// takes as long as its visits do at the clients on it. A round in which the deadline cuts somebody off lasts until the deadline in
/// simulated time: the others wait for that long. The deadline is for the work that `local` asks for, in `hierfavg` for that of an edge
/// round: whoever misses it is late in all edge rounds, and under `partial` each of them lasts until it. Other work of a round is not cut off: the
/// first gradients of `gradient_tracking`, a client that `participation.replacement` draws twice, and further calls of `round.train` in a method of
/// your own. The round then lasts until the deadline or until all work is done, whichever is later. If nobody meets it, one client that is drawn counts all the same, and the round lasts as long
/// as its work.
///
/// Under the policy `partial` work counts that is done by the deadline: whole epochs with `local: {epochs: K}`, each step with
/// `local: {steps: K}`. A client that has no whole epoch done by then exchanges the model that
/// it began the round with; in `fedavg` it returns none.
///
/// A server cannot know before the deadline who will be late: it sends its model to all participants, and only the models of those in
/// time come back. Participants of `share` that are dropped are left out from the start, and are sent nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stragglers {
    /// Share of a round's participants (DFedRW: of its walks), in `[0, 1)`. Who is late is drawn without regard to speed, and nobody
    /// waits for them: late clients cost no simulated time, and rounds may even be shorter with them. A study of the time that the slow
    /// cost needs `deadline_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Seconds after which a round's local work is cut off; needs the clients' compute speeds. With `local: {epochs: K}`
    /// only whole epochs count of what is done by then.
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
    /// It is dropped for the round: it neither sends nor receives. Under a deadline, a server that waits for it has already sent it a model.
    Isolate,
    /// It sends nothing but receives the average: its row of the weights, as those of all others, is over those who sent
    /// and itself. Weights are computed anew from how many each client hears: `metropolis_hastings` weighs an arc by one more than the
    /// larger of those numbers of its two ends.
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
    /// The share of the deadline that one local step of each client takes, `[N]`; `None` without a deadline.
    pub step_shares: Option<&'a [f64]>,
    /// Seed of the draw of stragglers.
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
        match (self.share, self.deadline_seconds) {
            (Some(share), None) if !(0.0..1.0).contains(&share) => Err(AlgorithmError::setting(
                "share",
                share,
                "it must be at least 0 and below 1",
            )),
            (None, Some(seconds)) if !(seconds > 0.0 && seconds.is_finite()) => {
                let needed = "it must be positive and finite";
                Err(AlgorithmError::setting("deadline_seconds", seconds, needed))
            }
            (Some(_), None) | (None, Some(_)) => Ok(()),
            (Some(share), Some(_)) => Err(AlgorithmError::setting(
                "share",
                share,
                "deadline_seconds is also given: keep only one of the two",
            )),
            (None, None) => Err(AlgorithmError::setting(
                "share",
                "missing",
                "share or deadline_seconds must say who falls behind",
            )),
        }
    }
}

impl Policy {
    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Partial => "partial",
            Self::Isolate => "isolate",
            Self::Receive => "receive",
        }
    }
}

impl StragglerContext<'_> {
    /// What each of `participants` manages to do; all of them have work.
    ///
    /// # Interpretation
    /// Of work cut off by a deadline, the share of its steps that were in time counts, rounded down to whole epochs or
    /// steps; with none the participant is dropped.
    pub fn completions(&self, participants: &[Work]) -> Vec<Completion> {
        let whole = |at: usize| participants[at].whole;
        self.each(participants.len(), whole, |at, step_shares| {
            let work = &participants[at];
            self.against(steps_in_time(step_shares[work.client as usize]), work)
        })
    }

    /// Whether a deadline decides who is late, so that nobody can know it before the deadline.
    pub fn has_deadline(&self) -> bool {
        self.step_shares.is_some()
    }

    /// Whether there is a deadline and somebody was too late for it.
    pub fn misses_deadline(&self, completions: &[Completion]) -> bool {
        let in_time = |completion: &Completion| *completion == Completion::InTime;
        self.has_deadline() && !completions.iter().all(in_time)
    }

    /// What each of `walks` manages to do; all have at least one visit.
    ///
    /// # Source
    /// DFedRW (Wang et al.), Section VI-A: a global clock bounds the updates of a walk, and all devices on it together decide how many
    /// those are.
    ///
    /// # Interpretation
    /// A deadline is that clock: a visit takes its steps at the speed of the client that is visited, and a walk ends before the visit that
    /// would not be over in time. With none in time the walk is dropped.
    pub fn walk_completions(&self, walks: &[Vec<VisitWork>]) -> Vec<Completion> {
        let whole = |at: usize| walks[at].len() as u32;
        self.each(walks.len(), whole, |at, step_shares| {
            self.as_far_as(visits_in_time(&walks[at], step_shares), whole(at))
        })
    }

    /// What each of `count` participants manages to do. Participant `i` has `whole(i)` epochs, steps or visits. With a
    /// deadline, `within_deadline(i, step_shares)` decides.
    fn each(
        &self,
        count: usize,
        whole: impl Fn(usize) -> u32,
        within_deadline: impl Fn(usize, &[f64]) -> Completion,
    ) -> Vec<Completion> {
        let key = Key {
            round: self.round as u64,
            ..Key::default()
        };
        let mut rng = stream(self.seed, Purpose::Stragglers, key);
        let mut completions = vec![Completion::InTime; count];
        match (self.stragglers.share, self.step_shares) {
            (Some(share), _) => {
                let late = (share * count as f64 + 0.5).floor() as usize;
                for at in index::sample(&mut rng, count, late.min(count)) {
                    completions[at] = match (self.policy, whole(at)) {
                        (Policy::Partial, whole) if whole > 1 => {
                            Completion::Cut(rng.random_range(1..whole))
                        }
                        (Policy::Partial, _) => Completion::InTime,
                        (Policy::Isolate | Policy::Receive, _) => Completion::Dropped,
                    };
                }
            }
            (None, Some(step_shares)) => {
                for (at, completion) in completions.iter_mut().enumerate() {
                    *completion = within_deadline(at, step_shares);
                }
            }
            (None, None) => {}
        }
        let dropped = |completion: &Completion| *completion == Completion::Dropped;
        if count > 0 && completions.iter().all(dropped) {
            completions[rng.random_range(0..count)] = Completion::InTime;
        }
        completions
    }

    /// The completion of `work` if its client manages `in_time` local steps.
    fn against(&self, in_time: u32, work: &Work) -> Completion {
        let done = match in_time >= work.steps {
            true => work.whole,
            false => (u64::from(work.whole) * u64::from(in_time) / u64::from(work.steps)) as u32,
        };
        self.as_far_as(done, work.whole)
    }

    /// The completion of `whole` epochs, steps or visits if `done` of them are in time.
    fn as_far_as(&self, done: u32, whole: u32) -> Completion {
        match self.policy {
            _ if done >= whole => Completion::InTime,
            Policy::Partial if done > 0 => Completion::Cut(done),
            _ => Completion::Dropped,
        }
    }
}

/// Relative slack on a deadline, so that three steps of a fifth each fit into three fifths.
const SLACK: f64 = 1e-9;

/// How many local steps fit into a deadline, if one takes the share `step_share` of it. A step that ends with the
/// deadline is in time. If steps take no time, it is the largest `u32`.
pub fn steps_in_time(step_share: f64) -> u32 {
    match step_share > 0.0 {
        true => ((1.0 + SLACK) / step_share) as u32,
        false => u32::MAX,
    }
}

/// How many visits of a walk fit into the deadline. A local step of client `i` takes the share `step_shares[i]` of it.
fn visits_in_time(walk: &[VisitWork], step_shares: &[f64]) -> u32 {
    let share = |visit: &VisitWork| f64::from(visit.steps) * step_shares[visit.client as usize];
    let ends = walk.iter().map(share).scan(0.0, |end, share| {
        *end += share;
        Some(*end)
    });
    ends.take_while(|end| *end <= 1.0 + SLACK).count() as u32
}

/// What a participant has to do in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// The client that does the work.
    pub client: u32,
    /// Epochs or steps.
    pub whole: u32,
    /// The same in local steps.
    pub steps: u32,
}

/// What a walk does at one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitWork {
    /// Who is visited.
    pub client: u32,
    /// Local steps there.
    pub steps: u32,
}

impl Completion {
    /// The part of `amount` that is done.
    pub fn done_of(self, amount: Amount) -> Amount {
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
            step_shares: None,
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

    fn by_deadline() -> Stragglers {
        Stragglers {
            share: None,
            deadline_seconds: Some(1.0),
            ..by_share(0.0)
        }
    }

    #[test]
    fn a_walk_goes_on_until_the_clients_on_it_have_used_its_time_up() {
        let stragglers = by_deadline();
        let visits = |clients: &[u32]| -> Vec<VisitWork> {
            let visit = |client: &u32| VisitWork {
                client: *client,
                steps: 10 * u32::from(*client != 3), // 3 is dead: nothing is done there
            };
            clients.iter().map(visit).collect()
        };
        let walks = [
            visits(&[0, 0, 0, 0, 0]),
            visits(&[0, 1, 0, 1, 0]), // 1/5 + 2/5 + 1/5 + ..
            visits(&[0, 0, 1, 1, 0]), // 1/5 + 1/5 + 2/5 + ..
            visits(&[2, 0, 0, 0, 0]),
            visits(&[3, 3, 3, 1, 1]),
        ];
        let completions = |policy| {
            StragglerContext {
                step_shares: Some(&[0.02, 0.04, 0.11, 1.0]),
                ..straggler_context(&stragglers, policy, 1)
            }
            .walk_completions(&walks)
        };
        use Completion::{Cut, Dropped, InTime};
        assert_eq!(
            completions(Policy::Partial),
            [InTime, Cut(3), Cut(3), Dropped, InTime]
        );
        assert_eq!(
            completions(Policy::Isolate),
            [InTime, Dropped, Dropped, Dropped, InTime]
        );
    }

    #[test]
    fn a_step_that_ends_with_the_deadline_is_in_time() {
        assert_eq!(
            1.0 / (0.2 / 0.6),
            2.999_999_999_999_999_6,
            "the slack is needed"
        );
        let steps = [0.2 / 0.6, 0.25 / 0.6, 0.7 / 0.6, 0.0].map(steps_in_time);
        assert_eq!(steps, [3, 2, 0, u32::MAX]);
    }

    #[test]
    fn a_deadline_cuts_the_slow() {
        let stragglers = by_deadline();
        let completions = |policy| {
            StragglerContext {
                step_shares: Some(&[0.01, 0.02, 0.0204, 0.11]),
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
