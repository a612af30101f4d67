//! What a paper says of some values.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::outcome::Values;
use crate::rows::ONLY_VALUE;
use crate::shown::Unit;

/// How far a share may be off that is still called close.
const CLOSE_SHARE: f64 = 0.06;

/// What must hold of the values, each the mean over its seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Claim {
    /// A value is a number.
    Number {
        /// The value.
        #[serde(default = "only_value")]
        of: String,
        /// The number.
        is: f64,
        /// How far off it may be.
        within: f64,
        /// How far off is still close; 0.06 for shares such as accuracies, nothing for others.
        close: Option<f64>,
    },
    /// A value lies between two numbers, the ends included.
    Range {
        /// The value.
        #[serde(default = "only_value")]
        of: String,
        /// The least.
        from: f64,
        /// The largest.
        to: f64,
    },
    /// Each value is at least the next. A level that is not reached under every seed comes after all that are; of two such, the one that
    /// fewer seeds reach comes after the other, and none after one that as many reach.
    Order {
        /// The values, the largest first.
        of: Vec<String>,
        /// How far a value may fall short of the next.
        #[serde(default)]
        slack: f64,
    },
    /// All values are alike.
    Alike {
        /// The values.
        of: Vec<String>,
        /// How far apart they may be.
        within: f64,
    },
    /// A value is ahead of the mean of others by a number.
    Lead {
        /// The value.
        of: String,
        /// The others.
        over: Vec<String>,
        /// The number.
        is: f64,
        /// How far off it may be.
        within: f64,
        /// How far off is still close; as of a number.
        close: Option<f64>,
    },
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// No.
    Missed,
    /// The number is missed by little.
    Near,
    /// Yes.
    Met,
}

fn only_value() -> String {
    ONLY_VALUE.to_owned()
}

impl Claim {
    /// The values that it is about.
    pub(crate) fn names(&self) -> Vec<&String> {
        match self {
            Self::Number { of, .. } | Self::Range { of, .. } => vec![of],
            Self::Order { of, .. } | Self::Alike { of, .. } => of.iter().collect(),
            Self::Lead { of, over, .. } => [of].into_iter().chain(over).collect(),
        }
    }

    /// Whether it states a number, and not an order alone.
    pub(crate) fn is_number(&self) -> bool {
        matches!(
            self,
            Self::Number { .. } | Self::Range { .. } | Self::Lead { .. }
        )
    }

    /// The number that the paper gives for the value `name`.
    pub(crate) fn number_of(&self, name: &str) -> Option<f64> {
        match self {
            Self::Number { of, is, .. } if of == name => Some(*is),
            _ => None,
        }
    }

    /// Whether it holds, and a sentence that says why; nothing if a value is not known.
    pub(crate) fn judge(
        &self,
        values: &BTreeMap<String, Values>,
        unit: Unit,
    ) -> Option<(Held, String)> {
        let known = self
            .names()
            .into_iter()
            .all(|name| values.get(name).is_some_and(|value| !value.is_empty()));
        if !known {
            return None;
        }
        let mean = |name: &String| values[name].mean();
        let shown = |name: &String| values[name].shown(unit);
        Some(match self {
            Self::Number {
                of,
                is,
                within,
                close,
            } => {
                let name = named(of);
                match mean(of) {
                    Some(found) => {
                        let (held, text) = number(found, *is, *within, *close, unit);
                        (held, format!("{name}{text}"))
                    }
                    None => {
                        let (shown, stated) = (shown(of), unit.shown(*is));
                        (Held::Missed, format!("{name}{shown}, stated: {stated}"))
                    }
                }
            }
            Self::Range { of, from, to } => {
                let is_met = mean(of).is_some_and(|mean| {
                    *from - mean <= rounding(*from) && mean - *to <= rounding(*to)
                });
                let [from, to] = [from, to].map(|end| unit.shown(*end));
                (
                    met(is_met),
                    format!("{}{}, stated: {from} to {to}", named(of), shown(of)),
                )
            }
            Self::Order { of, slack } => Compared::new(of, values, unit).order(*slack),
            Self::Alike { of, within } => Compared::new(of, values, unit).alike(*within),
            Self::Lead {
                of,
                over,
                is,
                within,
                close,
            } => {
                let others: Option<Vec<f64>> = over.iter().map(mean).collect();
                let lead = mean(of).zip(others).map(|(first, others)| {
                    first - others.iter().sum::<f64>() / others.len() as f64
                });
                match lead {
                    Some(lead) => {
                        let (held, text) = number(lead, *is, *within, *close, unit);
                        (held, format!("{of} leads by {text}"))
                    }
                    None => {
                        let compared = [of].into_iter().chain(over);
                        let compared = compared.map(|name| format!("{name} {}", shown(name)));
                        let compared: Vec<String> = compared.collect();
                        let (compared, stated) = (compared.join(", "), unit.shown(*is));
                        (
                            Held::Missed,
                            format!("{of} has no lead: {compared}, stated: {stated}"),
                        )
                    }
                }
            }
        })
    }
}

/// `name: `, but nothing for the only value of a row.
fn named(name: &str) -> String {
    match name {
        ONLY_VALUE => String::new(),
        _ => format!("{name}: "),
    }
}

fn met(is_met: bool) -> Held {
    match is_met {
        true => Held::Met,
        false => Held::Missed,
    }
}

/// How far off a value of about `size` may be for its rounding: a tolerance of .003 includes .003 as decimals have it.
fn rounding(size: f64) -> f64 {
    1e-9 * size.abs().max(1.0)
}

fn number(found: f64, is: f64, within: f64, close: Option<f64>, unit: Unit) -> (Held, String) {
    let stated = unit.shown(is);
    let close = close
        .or((unit == Unit::Share).then_some(CLOSE_SHARE))
        .unwrap_or(within);
    let off = (found - is).abs() - rounding(is);
    let held = match off {
        off if off <= within => Held::Met,
        off if off <= close => Held::Near,
        _ => Held::Missed,
    };
    let mut text = format!(
        "{}, stated: {stated} ± {}",
        unit.shown(found),
        unit.shown(within)
    );
    if held == Held::Near {
        text += &format!(", close within {}", unit.shown(close));
    }
    (held, text)
}

/// Several values, for a claim about how they compare.
struct Compared<'a> {
    of: &'a [String],
    values: &'a BTreeMap<String, Values>,
    unit: Unit,
}

impl<'a> Compared<'a> {
    fn new(of: &'a [String], values: &'a BTreeMap<String, Values>, unit: Unit) -> Self {
        Self { of, values, unit }
    }

    /// Whether each is at least the next, up to `slack`.
    fn order(&self, slack: f64) -> (Held, String) {
        for pair in self.of.windows(2) {
            let [first, next] = [&self.values[&pair[0]], &self.values[&pair[1]]];
            let fault = match (first.mean(), next.mean()) {
                (Some(first), Some(next)) if next - slack - first <= rounding(next) => continue,
                (None, Some(_)) => continue,
                (None, None) => match first.share_reached().total_cmp(&next.share_reached()) {
                    Ordering::Less => continue,
                    Ordering::Equal => "cannot be told from",
                    Ordering::Greater => "is below",
                },
                _ => "is below",
            };
            let reason = format!("{} {fault} {}: {self}", pair[0], pair[1]);
            return (Held::Missed, reason);
        }
        let allowed = match slack > 0.0 {
            true => format!(" within {}", self.unit.shown(slack)),
            false => String::new(),
        };
        let reason = format!("in the stated order{allowed}: {self}");
        (Held::Met, reason)
    }

    /// Whether all are known and the largest is over the least by at most `within`.
    fn alike(&self, within: f64) -> (Held, String) {
        let means: Option<Vec<f64>> = self
            .of
            .iter()
            .map(|name| self.values[name].mean())
            .collect();
        let is_met = means.is_some_and(|means| {
            let least = means.iter().copied().fold(f64::INFINITY, f64::min);
            let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            most - least - within <= rounding(most)
        });
        let word = if is_met { "alike" } else { "not alike" };
        let held = met(is_met);
        let within = self.unit.shown(within);
        (held, format!("{word} within {within}: {self}"))
    }
}

/// `a 0.52, b 0.48`.
impl fmt::Display for Compared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.of.iter().enumerate() {
            let separator = if place > 0 { ", " } else { "" };
            write!(
                f,
                "{separator}{name} {}",
                self.values[name].shown(self.unit)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(&str, &[Option<f64>])]) -> BTreeMap<String, Values> {
        let values = |found: &[Option<f64>]| Values::of((1..).zip(found.iter().copied()).collect());
        of.iter()
            .map(|(name, found)| ((*name).to_owned(), values(found)))
            .collect()
    }

    fn held(yaml: &str, of: &[(&str, &[Option<f64>])]) -> Option<Held> {
        let claim: Claim = serde_yaml::from_str(yaml).unwrap();
        claim.judge(&values(of), Unit::Share).map(|(held, _)| held)
    }

    #[test]
    fn a_number_is_met_near_or_missed_by_the_mean_over_seeds() {
        let number = "{number: {is: 0.98, within: 0.003}}";
        assert_eq!(
            held(number, &[("value", &[Some(0.98), Some(0.986)])]),
            Some(Held::Met)
        );
        assert_eq!(held(number, &[("value", &[Some(0.983)])]), Some(Held::Met));
        assert_eq!(held(number, &[("value", &[Some(0.97)])]), Some(Held::Near));
        assert_eq!(held(number, &[("value", &[Some(0.9)])]), Some(Held::Missed));
        assert_eq!(held(number, &[("value", &[None])]), Some(Held::Missed));
        assert_eq!(held(number, &[("value", &[])]), None);
    }

    #[test]
    fn a_number_that_is_no_share_is_close_only_where_its_claim_says_so() {
        let number = |close: &str| {
            let yaml = format!("{{number: {{is: 0.19, within: 0.001{close}}}}}");
            let claim: Claim = serde_yaml::from_str(&yaml).unwrap();
            let judged = claim.judge(&values(&[("value", &[Some(0.2321)])]), Unit::Number);
            judged.map(|(held, _)| held)
        };
        assert_eq!(number(""), Some(Held::Missed));
        assert_eq!(number(", close: 0.05"), Some(Held::Near));
    }

    #[test]
    fn a_level_that_some_seeds_reach_is_not_called_never_reached() {
        let reason = |yaml: &str, of: &[(&str, &[Option<f64>])]| {
            let claim: Claim = serde_yaml::from_str(yaml).unwrap();
            claim.judge(&values(of), Unit::Number).unwrap().1
        };
        let number = "{number: {is: 12, within: 1}}";
        assert_eq!(
            reason(number, &[("value", &[Some(12.0), None, Some(9.0)])]),
            "reached under 2 of 3 seeds, stated: 12"
        );
        assert_eq!(
            reason(number, &[("value", &[None, None])]),
            "never, stated: 12"
        );
        assert_eq!(
            reason(
                "{order: {of: [a, b]}}",
                &[("a", &[None, Some(3.0)]), ("b", &[Some(2.0)])]
            ),
            "in the stated order: a reached under 1 of 2 seeds, b 2"
        );
    }

    #[test]
    fn an_order_holds_if_no_value_falls_short_of_the_next() {
        let order = "{order: {of: [a, b, c], slack: 0.01}}";
        let three = |a, b, c| {
            held(
                order,
                &[("a", &[Some(a)]), ("b", &[Some(b)]), ("c", &[Some(c)])],
            )
        };
        assert_eq!(three(0.9, 0.905, 0.5), Some(Held::Met));
        assert_eq!(three(0.9, 0.92, 0.5), Some(Held::Missed));
        // 0.1 + 0.2 is a little more than 0.3.
        assert_eq!(three(0.9, 0.29, 0.1 + 0.2), Some(Held::Met));
    }

    #[test]
    fn what_is_never_reached_comes_last_and_has_no_order_of_its_own() {
        let order = |slow: &[Option<f64>], fast: &[Option<f64>]| {
            let values = [("slow", slow), ("fast", fast)];
            held("{order: {of: [slow, fast], slack: -0.3}}", &values)
        };
        let (never, reached) = (&[None, None], &[Some(3.0), Some(4.0)]);
        assert_eq!(order(never, reached), Some(Held::Met));
        assert_eq!(order(reached, never), Some(Held::Missed));
        assert_eq!(order(never, never), Some(Held::Missed));
        let once = &[None, Some(3.0)];
        assert_eq!(order(never, once), Some(Held::Met));
        assert_eq!(order(once, never), Some(Held::Missed));
        assert_eq!(order(once, once), Some(Held::Missed));
        let alike = "{alike: {of: [a, b], within: 0.1}}";
        assert_eq!(
            held(alike, &[("a", never), ("b", never)]),
            Some(Held::Missed)
        );
    }

    #[test]
    fn tolerances_and_ends_are_as_decimals_have_them() {
        let alike = "{alike: {of: [a, b], within: 0.1}}";
        assert_eq!(
            held(alike, &[("a", &[Some(2.0)]), ("b", &[Some(1.9)])]),
            Some(Held::Met)
        );
        let range = "{range: {from: 0.05, to: 0.1}}";
        assert_eq!(
            held(range, &[("value", &[Some(0.1), Some(0.1), Some(0.1)])]),
            Some(Held::Met)
        );
        assert_eq!(
            held(range, &[("value", &[Some(0.101)])]),
            Some(Held::Missed)
        );
        assert_eq!(
            held(range, &[("value", &[Some(0.049)])]),
            Some(Held::Missed)
        );
    }

    #[test]
    fn a_lead_is_over_the_mean_of_the_others() {
        let lead = "{lead: {of: a, over: [b, c], is: 0.2, within: 0.01}}";
        assert_eq!(
            held(
                lead,
                &[
                    ("a", &[Some(0.9)]),
                    ("b", &[Some(0.6)]),
                    ("c", &[Some(0.8)])
                ]
            ),
            Some(Held::Met)
        );
        assert_eq!(
            held(
                lead,
                &[
                    ("a", &[Some(0.9)]),
                    ("b", &[Some(0.6)]),
                    ("c", &[Some(0.5)])
                ]
            ),
            Some(Held::Missed)
        );
        let alike = "{alike: {of: [a, b], within: 0.02}}";
        assert_eq!(
            held(alike, &[("a", &[Some(0.9)]), ("b", &[Some(0.89)])]),
            Some(Held::Met)
        );
        assert_eq!(
            held(alike, &[("a", &[Some(0.9)]), ("b", &[Some(0.87)])]),
            Some(Held::Missed)
        );
    }
}
