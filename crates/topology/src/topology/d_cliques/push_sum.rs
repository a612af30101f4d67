//! Averages that nodes compute by sending each other sums.

use super::LabelDistributions;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Every node's estimate of the mean of all label distributions after `rounds` rounds, `[N][C]`.
///
/// A node holds a sum and a weight, at first its own distribution and 1. In each round it keeps half of both and sends half to a node
/// that it draws uniformly; what it has and receives is added up. Its estimate is the sum divided by the weight.
///
/// # Source
/// Kempe, Dobra and Gehrke, *Gossip-based computation of aggregate information* (2003), protocol Push-Sum, which D-Cliques (Bellet et al.),
/// Section III-B, refers to.
///
/// # Complexity
/// O(rounds N C); a message has C + 1 numbers.
pub(super) fn push_sum(
    labels: &LabelDistributions,
    nodes: u32,
    rounds: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<f64>> {
    let start = |node| labels.of(node).iter().copied().chain([1.0]).collect();
    let mut held: Vec<Vec<f64>> = (0..nodes).map(start).collect();
    (0..rounds).for_each(|_| push_halves(&mut held, rng));
    for numbers in &mut held {
        if let Some(weight) = numbers.pop() {
            numbers.iter_mut().for_each(|number| *number /= weight);
        }
    }
    held
}

/// One round over what all nodes have, `[N][C + 1]`, the weight last.
fn push_halves(held: &mut [Vec<f64>], rng: &mut ChaCha8Rng) {
    for numbers in held.iter_mut() {
        numbers.iter_mut().for_each(|number| *number /= 2.0);
    }
    // Halves that are sent in a round arrive after it.
    let sent = held.to_vec();
    for half in sent {
        let to = rng.random_range(0..held.len());
        for (number, received) in held[to].iter_mut().zip(half) {
            *number += received;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nodes;
    use rand::SeedableRng;

    #[test]
    fn rounds_keep_the_sums_and_the_weights() {
        let mut held: Vec<Vec<f64>> = (0..30).map(|node| vec![f64::from(node), 1.0]).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for round in 0..100 {
            push_halves(&mut held, &mut rng);
            let total = |column: usize| held.iter().map(|numbers| numbers[column]).sum::<f64>();
            let (sum, weight) = (total(0), total(1));
            assert!((sum - 435.0).abs() < 1e-10, "round {round}: {sum}");
            assert!((weight - 30.0).abs() < 1e-11, "round {round}: {weight}");
        }
    }

    #[test]
    fn estimates_come_to_the_mean_of_all() {
        let label_counts: Vec<Vec<u64>> = (0..60).map(|node| vec![node, 3, 60 - node]).collect();
        let labels = LabelDistributions::new(Nodes {
            count: 60,
            label_counts: &label_counts,
        })
        .unwrap();
        let global = labels.global();
        let worst = |rounds| {
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let estimates = push_sum(&labels, 60, rounds, &mut rng);
            let errors = estimates.iter().flat_map(|estimate| {
                let pairs = estimate.iter().zip(&global);
                pairs.map(|(found, share)| (found - share).abs())
            });
            errors.fold(0.0, f64::max)
        };
        assert_eq!(
            push_sum(&labels, 60, 0, &mut ChaCha8Rng::seed_from_u64(1))[7],
            labels.of(7)
        );
        // The error falls by a factor in each round.
        assert!(worst(0) > 0.3 && worst(20) < 0.01, "{}", worst(20));
        assert!(worst(60) < 1e-6, "{}", worst(60));
        // Nothing is lost on the way: every node alone knows the mean in the end.
        assert!(worst(200) < 1e-13, "{}", worst(200));
    }
}
