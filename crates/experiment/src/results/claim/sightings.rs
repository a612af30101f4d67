//! What this process has seen of the claims of others, so that it can tell that one of them stands still.
//!
//! The clocks of two machines need not agree. So nobody reads the time in a claim: who looks at it several times measures
//! with a clock of its own for how long the claim has not changed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::results::claim::holder::Found;
use crate::results::claim::patience::Patience;

/// How a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimState {
    /// Its process lives, as far as is known.
    Alive,
    /// Its process has ended, or gave no sign of life for as long as patience lasts.
    Dead,
    /// It has to be looked at again.
    Undecided,
}

/// What was seen of one claim.
#[derive(Debug)]
struct Sighting {
    bytes: Vec<u8>,
    /// Whether it has changed since it was first seen.
    has_changed: bool,
    /// For how long it has not changed.
    still: Duration,
    looked: Instant,
}

/// What was seen of all claims, by their files.
#[derive(Debug)]
pub(super) struct Sightings(BTreeMap<PathBuf, Sighting>);

/// What this process has seen.
static SEEN: Mutex<Sightings> = Mutex::new(Sightings(BTreeMap::new()));

impl Sightings {
    /// How `claim` stands, now that this process has looked at it once more.
    pub(super) fn state(claim: &Found, patience: &Patience) -> ClaimState {
        let ended = claim.holder.as_ref().map(|holder| &holder.process);
        match ended.and_then(|process| process.has_ended()) {
            Some(true) => ClaimState::Dead,
            Some(false) => ClaimState::Alive,
            None => {
                let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
                seen.look(claim, patience, Instant::now())
            }
        }
    }

    fn look(&mut self, claim: &Found, patience: &Patience, now: Instant) -> ClaimState {
        let Some(sighting) = self.0.get_mut(&claim.path) else {
            let first = Sighting {
                bytes: claim.bytes.clone(),
                has_changed: false,
                still: Duration::ZERO,
                looked: now,
            };
            self.0.insert(claim.path.clone(), first);
            return ClaimState::Undecided;
        };
        let since = now.saturating_duration_since(sighting.looked);
        sighting.looked = now;
        if sighting.bytes != claim.bytes {
            sighting.bytes.clone_from(&claim.bytes);
            (sighting.has_changed, sighting.still) = (true, Duration::ZERO);
            return ClaimState::Alive;
        }
        // This process may have been suspended itself, or a file system that did not answer kept both waiting.
        sighting.still += since.min(patience.between_signs() * 2);
        match sighting.still >= patience.limit() {
            true => ClaimState::Dead,
            false if sighting.has_changed => ClaimState::Alive,
            false => ClaimState::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(bytes: &str) -> Found {
        Found {
            path: PathBuf::from("claim-1.json"),
            number: 1,
            bytes: bytes.into(),
            holder: None,
        }
    }

    /// Looks at the `claims` second by second; the states.
    fn states(claims: &[&str]) -> Vec<ClaimState> {
        let (patience, began) = (Patience::of(Duration::from_secs(12)), Instant::now());
        let mut seen = Sightings(BTreeMap::new());
        let look = |(second, bytes): (u64, &&str)| {
            let now = began + Duration::from_secs(second);
            seen.look(&claim(bytes), &patience, now)
        };
        (0..).zip(claims).map(look).collect()
    }

    #[test]
    fn a_claim_that_stands_still_is_dead_once_patience_ends() {
        let states = states(&["a"; 14]);
        assert!(
            states[..12]
                .iter()
                .all(|state| *state == ClaimState::Undecided)
        );
        assert_eq!(states[12..], [ClaimState::Dead; 2]);
    }

    #[test]
    fn a_claim_that_changes_is_alive_until_it_stands_still() {
        let mut claims = vec!["a", "a", "b"];
        claims.extend(["c"; 13]);
        let states = states(&claims);
        assert_eq!(states[..2], [ClaimState::Undecided; 2]);
        assert_eq!(states[2..15], [ClaimState::Alive; 13]);
        assert_eq!(states[15], ClaimState::Dead);
    }

    #[test]
    fn who_was_suspended_itself_does_not_bury_the_others() {
        let (patience, began) = (Patience::of(Duration::from_secs(12)), Instant::now());
        let mut seen = Sightings(BTreeMap::new());
        for hours in 0..3 {
            let now = began + Duration::from_secs(3600 * hours);
            assert_eq!(
                seen.look(&claim("a"), &patience, now),
                ClaimState::Undecided,
                "{hours}"
            );
        }
    }
}
