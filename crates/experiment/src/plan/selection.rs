//! Some of the runs of an experiment: a part of them, or those that are named.

use std::str::FromStr;

use crate::plan::division::divide;
use crate::plan::run_plan::RunPlan;

/// Which runs of an experiment are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    All,
    /// One of several parts; other processes take the others.
    Part(Part),
    /// Those with these ids, or these beginnings of ids.
    Only(Vec<String>),
}

/// One of several parts of about equal work, such as `3/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 1.
    pub number: usize,
    /// How many parts there are.
    pub of: usize,
}

/// Why a [`Selection`] stands for no runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// An id that no run has.
    #[error(
        "no run of this experiment has the id `{id}`; `meshfold plan FILE --json` lists their ids"
    )]
    Unknown {
        /// As it was given.
        id: String,
    },
    /// The beginning of several ids.
    #[error("`{id}` stands for {count} runs, such as {} and {}: write more of the id", examples[0], examples[1])]
    Ambiguous {
        /// As it was given.
        id: String,
        /// How many begin so.
        count: usize,
        /// Two of them.
        examples: [String; 2],
    },
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("found `{text}`, needed a part such as 3/16, from 1/16 to 16/16");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let read = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        let (number, of) = (read(number)?, read(of)?);
        match (1..=of).contains(&number) && of <= 1_000_000 {
            true => Ok(Self { number, of }),
            false => Err(wrong()),
        }
    }
}

impl Selection {
    /// Those of `plans` that are meant, in their order.
    ///
    /// # Errors
    /// [`SelectionError`] if an id stands for no run, or for several.
    pub fn of(&self, plans: &[RunPlan]) -> Result<Vec<RunPlan>, SelectionError> {
        let clone = |places: &[usize]| places.iter().map(|place| plans[*place].clone()).collect();
        match self {
            Self::All => Ok(plans.to_vec()),
            Self::Part(part) => Ok(clone(&divide(plans, part.of)[part.number - 1])),
            Self::Only(ids) => {
                let ids_of_all: Vec<&str> = plans.iter().map(|plan| plan.id.as_str()).collect();
                Ok(clone(&named(ids, &ids_of_all)?))
            }
        }
    }
}

/// The places among `all` ids of those that `names` stand for, ascending.
fn named(names: &[String], all: &[&str]) -> Result<Vec<usize>, SelectionError> {
    let mut places = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let begins = |place: &usize| !name.is_empty() && all[*place].starts_with(name);
        let found: Vec<usize> = (0..all.len()).filter(begins).collect();
        let id = name.to_owned();
        match found[..] {
            [only] => places.push(only),
            [] => return Err(SelectionError::Unknown { id }),
            [first, second, ..] => {
                return Err(SelectionError::Ambiguous {
                    id,
                    count: found.len(),
                    examples: [first, second].map(|place| all[place].to_owned()),
                });
            }
        }
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_from_one() {
        assert_eq!("3/16".parse(), Ok(Part { number: 3, of: 16 }));
        assert_eq!("1/1".parse(), Ok(Part { number: 1, of: 1 }));
        for wrong in ["0/4", "5/4", "1/0", "3", "a/b", "1/2/3", "-1/4", ""] {
            let error = wrong.parse::<Part>().unwrap_err();
            assert!(error.contains("such as 3/16"), "{wrong}: {error}");
        }
    }

    #[test]
    fn ids_may_be_shortened_as_long_as_they_stand_for_one_run() {
        let all = ["a1b2", "a1c3", "d4e5"];
        let places = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            named(&names, &all)
        };
        assert_eq!(places(&["d", "a1b2", "a1b"]).unwrap(), [0, 2]);
        for (name, complaint) in [("a1", "2 runs"), ("f", "no run"), ("", "no run")] {
            let error = places(&[name]).unwrap_err().to_string();
            assert!(error.contains(complaint), "{name}: {error}");
        }
    }
}
