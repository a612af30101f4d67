//! How much the clients of a partition differ, in a few figures.

use serde::Serialize;

/// How much the clients differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Heterogeneity {
    /// The total variation distance between a client's shares of the labels and those of all clients' examples together, mean over the
    /// clients with examples: 0 if all are alike, below 1. Examples that nobody has do not count.
    label_distance_mean: f64,
    /// The largest.
    label_distance_max: f64,
    /// The Gini coefficient of the clients' numbers of examples: 0 if all have as many, below 1.
    size_gini: f64,
}

impl Heterogeneity {
    /// That of clients with `histograms[i][c]` examples of label `c`; `None` if there are no examples.
    pub(super) fn of(histograms: &[Vec<u64>]) -> Option<Self> {
        let classes = histograms.first()?.len();
        let of_label = |label: usize| histograms.iter().map(|counts| counts[label]).sum::<u64>();
        let all = shares(&(0..classes).map(of_label).collect::<Vec<u64>>())?;
        let distance = |counts: &Vec<u64>| {
            let off = shares(counts)?.into_iter().zip(&all);
            Some(off.map(|(own, all)| (own - all).abs()).sum::<f64>() / 2.0)
        };
        let distances: Vec<f64> = histograms.iter().filter_map(distance).collect();
        let sizes = histograms.iter().map(|counts| counts.iter().sum::<u64>());
        Some(Self {
            label_distance_mean: distances.iter().sum::<f64>() / distances.len() as f64,
            label_distance_max: distances.iter().copied().fold(0.0, f64::max),
            size_gini: gini(sizes.collect()),
        })
    }

    /// Both in words.
    pub(super) fn words(&self) -> String {
        let Self {
            label_distance_mean: mean,
            label_distance_max: max,
            size_gini,
        } = self;
        format!(
            "shares of the labels differ from those of all clients' examples together by {mean:.2} on average and {max:.2} at most (total \
             variation distance); the Gini coefficient of the sizes is {size_gini:.2}"
        )
    }
}

/// The counts as fractions of their sum; `None` if that is 0.
fn shares(counts: &[u64]) -> Option<Vec<f64>> {
    let sum = counts.iter().sum::<u64>();
    let share = |count: &u64| *count as f64 / sum as f64;
    (sum > 0).then(|| counts.iter().map(share).collect())
}

/// The Gini coefficient of `sizes`, of which one is positive: `Σ_i Σ_j |s_i − s_j| / (2 N Σ s)`.
fn gini(mut sizes: Vec<u64>) -> f64 {
    sizes.sort_unstable();
    let count = sizes.len() as f64;
    let sum = sizes.iter().sum::<u64>() as f64;
    let ranked = (1..).zip(&sizes);
    let weighted = ranked.map(|(rank, size): (u64, &u64)| rank as f64 * *size as f64);
    2.0 * weighted.sum::<f64>() / (count * sum) - (count + 1.0) / count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn clients_alike_do_not_differ() {
        let found = Heterogeneity::of(&vec![vec![3, 1]; 5]).unwrap();
        close(found.label_distance_mean, 0.0);
        close(found.size_gini, 0.0);
        assert_eq!(Heterogeneity::of(&[vec![0, 0]]), None);
        assert_eq!(Heterogeneity::of(&[]), None);
    }

    #[test]
    fn distances_and_coefficients_follow_their_formulas() {
        let histograms = [vec![4, 0], vec![0, 2], vec![1, 1], vec![0, 0]];
        let found = Heterogeneity::of(&histograms).unwrap();
        // Of all clients together 5/8 and 3/8: the distances are 3/8, 5/8 and 1/8; the client without examples has none.
        close(found.label_distance_mean, (3.0 + 5.0 + 1.0) / 24.0);
        close(found.label_distance_max, 0.625);
        let sizes = [4.0, 2.0, 2.0, 0.0_f64];
        let pairs = sizes
            .iter()
            .flat_map(|one| sizes.map(|other| (one - other).abs()));
        close(found.size_gini, pairs.sum::<f64>() / (2.0 * 4.0 * 8.0));
    }
}
