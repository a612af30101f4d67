//! Some of the runs of an experiment: a part of them, or those that are named.

use std::str::FromStr;

use clap::Args;
use meshfold_experiment::{RunPlan, divide};

use crate::failure::Failure;

/// Which runs of an experiment are meant.
#[derive(Debug, Default, Args)]
pub(crate) struct Selection {
    /// Only one of N parts of about equal work, such as 3/16: other processes take the others
    #[arg(long, value_name = "K/N", conflicts_with = "only")]
    part: Option<Part>,
    /// Only the runs with these ids, or these beginnings of ids
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    only: Vec<String>,
}

/// The part `number`, from 1, of `of` parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    number: usize,
    of: usize,
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
    /// [`Failure::Refused`] if an id stands for no run, or for several.
    pub(crate) fn of(&self, plans: &[RunPlan]) -> Result<Vec<RunPlan>, Failure> {
        let clone = |places: &[usize]| places.iter().map(|place| plans[*place].clone()).collect();
        match (self.part, self.only.as_slice()) {
            (Some(part), _) => Ok(clone(&divide(plans, part.of)[part.number - 1])),
            (None, []) => Ok(plans.to_vec()),
            (None, ids) => {
                let ids_of_all: Vec<&str> = plans.iter().map(|plan| plan.id.as_str()).collect();
                Ok(clone(&named(ids, &ids_of_all)?))
            }
        }
    }

    /// ` (part 3 of 16)` or nothing.
    pub(crate) fn remark(&self) -> String {
        self.part.map_or_else(String::new, |part| {
            format!(" (part {} of {})", part.number, part.of)
        })
    }
}

/// The places among `all` ids of those that `names` stand for, ascending.
fn named(names: &[String], all: &[&str]) -> Result<Vec<usize>, Failure> {
    let mut places = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let begins = |place: &usize| !name.is_empty() && all[*place].starts_with(name);
        let found: Vec<usize> = (0..all.len()).filter(begins).collect();
        match found[..] {
            [only] => places.push(only),
            [] => {
                return Err(Failure::refused(format_args!(
                    "--only: no run of this experiment has the id `{name}`; `meshfold plan FILE --json` lists their ids"
                )));
            }
            [first, second, ..] => {
                return Err(Failure::refused(format_args!(
                    "--only: `{name}` stands for {} runs, such as {} and {}: write more of the id",
                    found.len(),
                    all[first],
                    all[second]
                )));
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
            match places(&[name]).unwrap_err() {
                Failure::Refused(report) => {
                    assert!(format!("{report:?}").contains(complaint), "{name}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
