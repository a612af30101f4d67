//! `explicit`: the settings say how many examples of each label each client gets.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apportion::{apportion, hand_out};
use super::label_groups::by_label;
use super::{Labelled, PartitionError, Shard, Strategy};

/// Given counts per client and label, or given sizes and label ratios per client.
///
/// # Source
/// DeceFL, Table 3 (sizes and ratios: `sizes: [.1, .1, .2, .4]`, `ratios: [[1, 99], [99, 1], [3, 7],
/// [6, 4]]`) and Fig. 14 (counts).
///
/// # Interpretation
/// A client of Table 3 has `size * M` examples, rounded to the nearest whole number, divided by
/// its ratios (largest remainders). What is not asked for belongs to nobody.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Explicit {
    /// Examples of each label for each client, `[N][C]`.
    pub counts: Option<Vec<Vec<u32>>>,
    /// Each client's share of all training examples, `[N]`; the shares may sum to less than 1.
    pub sizes: Option<Vec<f64>>,
    /// Relative frequency of each label for each client, `[N][C]`; a row need not sum to 1.
    pub ratios: Option<Vec<Vec<f64>>>,
    /// Which examples of a label go to the first client that has any.
    pub order: ExampleOrder,
}

/// The order in which the examples of a label are handed out, client after client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExampleOrder {
    /// As they stand in the file.
    File,
    /// Shuffled.
    #[default]
    Shuffled,
}

impl Strategy for Explicit {
    fn clients(&self) -> Option<usize> {
        let counts = self.counts.as_ref().map(Vec::len);
        let sizes = self.sizes.as_ref().map(Vec::len);
        Some(counts.or(sizes).unwrap_or(0))
    }

    fn clients_setting(&self) -> &'static str {
        match self.counts {
            Some(_) => "counts",
            None => "sizes",
        }
    }

    fn label(&self) -> String {
        let given = if self.counts.is_some() {
            "counts"
        } else {
            "sizes and ratios"
        };
        format!("explicit {given}")
    }

    fn form(&self) -> Result<(), PartitionError> {
        match (&self.counts, &self.sizes, &self.ratios) {
            (Some(_), None, None) | (None, Some(_), Some(_)) => Ok(()),
            _ => Err(PartitionError::ExplicitForm),
        }
    }

    fn check(&self, examples: usize, classes: usize) -> Result<(), PartitionError> {
        self.table(examples, classes).map(|_| ())
    }

    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Shard>, PartitionError> {
        let Labelled {
            labels, classes, ..
        } = examples;
        let table = self.table(labels.len(), classes)?;
        let mut shards = vec![Vec::new(); table.len()];
        for (label, mut group) in by_label(labels, classes).into_iter().enumerate() {
            let asked = table.iter().map(|row| row[label]).sum();
            if asked > group.len() {
                return Err(PartitionError::NotEnough {
                    label,
                    asked,
                    available: group.len(),
                    setting: self.clients_setting(),
                });
            }
            if self.order == ExampleOrder::Shuffled {
                group.shuffle(rng);
            }
            let sizes = table.iter().map(|row| row[label]);
            hand_out(&group, 0.., sizes, &mut shards);
        }
        Ok(Shard::all(shards))
    }
}

impl Explicit {
    /// Examples of each label for each client, `[N][C]`, from whichever form is given.
    fn table(&self, examples: usize, classes: usize) -> Result<Vec<Vec<usize>>, PartitionError> {
        match (&self.counts, &self.sizes, &self.ratios) {
            (Some(counts), None, None) => {
                check_columns("counts", counts, classes)?;
                let row = |row: &Vec<u32>| row.iter().map(|&count| count as usize).collect();
                Ok(counts.iter().map(row).collect())
            }
            (None, Some(sizes), Some(ratios)) => {
                check_columns("ratios", ratios, classes)?;
                check_shares(sizes, ratios)?;
                let size = |share: &f64| (share * examples as f64).round() as usize;
                let rows = sizes.iter().map(size).zip(ratios);
                Ok(rows
                    .map(|(size, ratios)| apportion(size, ratios, 0))
                    .collect())
            }
            _ => Err(PartitionError::ExplicitForm),
        }
    }
}

fn check_columns<T>(
    table: &'static str,
    rows: &[Vec<T>],
    needed: usize,
) -> Result<(), PartitionError> {
    match rows.iter().position(|row| row.len() != needed) {
        None => Ok(()),
        Some(client) => Err(PartitionError::ExplicitColumns {
            table,
            client,
            found: rows[client].len(),
            needed,
        }),
    }
}

fn check_shares(sizes: &[f64], ratios: &[Vec<f64>]) -> Result<(), PartitionError> {
    if ratios.len() != sizes.len() {
        return Err(PartitionError::ExplicitRows {
            table: "ratios",
            found: ratios.len(),
            needed: sizes.len(),
        });
    }
    if let Some(&wrong) = sizes.iter().find(|share| !(0.0..=1.0).contains(*share)) {
        let needed = "shares from 0 to 1";
        return Err(PartitionError::setting("explicit.sizes", wrong, needed));
    }
    let sum: f64 = sizes.iter().sum();
    // Decimal shares that are meant to sum to one may exceed it by their rounding.
    if sum > 1.0 + 1e-9 {
        let needed = "a sum of at most 1";
        return Err(PartitionError::setting("explicit.sizes", sum, needed));
    }
    for (client, row) in ratios.iter().enumerate() {
        if let Some(&wrong) = row
            .iter()
            .find(|ratio| !(ratio.is_finite() && **ratio >= 0.0))
        {
            let needed = "ratios of at least 0";
            return Err(PartitionError::setting("explicit.ratios", wrong, needed));
        }
        let sum: f64 = row.iter().sum();
        if sum <= 0.0 || !sum.is_finite() {
            return Err(PartitionError::ExplicitSum {
                table: "ratios",
                client,
                found: sum,
            });
        }
    }
    Ok(())
}
