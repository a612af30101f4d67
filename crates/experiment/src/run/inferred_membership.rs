//! How well a threshold on a score tells members from non-members.

/// What an attacker with the best threshold achieves against one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InferredMembership {
    /// The share of guesses that are right, as many members as non-members: `½ (TPR + 1 − FPR)` at the best threshold; ½ by chance.
    pub(crate) accuracy: f64,
    /// The probability that a member looks more like one than a non-member does; ½ by chance.
    pub(crate) auc: f64,
    /// How many members there are, and as many non-members.
    pub(crate) examples: usize,
    /// The greatest share of members that are found while at most 1 % of the non-members are taken for members.
    pub(crate) tpr: f64,
}

/// The share of non-members that may be taken for members.
const FALSE_POSITIVES: f64 = 0.01;

impl InferredMembership {
    /// That of an attacker who takes the examples of the lowest scores for members; `None` unless there are both.
    pub(crate) fn of(members: &[f64], non_members: &[f64]) -> Option<Self> {
        if members.is_empty() || non_members.is_empty() {
            return None;
        }
        let tagged = |scores: &'_ [f64], is_member| -> Vec<(f64, bool)> {
            scores.iter().map(|score| (*score, is_member)).collect()
        };
        let mut all = [tagged(members, true), tagged(non_members, false)].concat();
        all.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        let (of_members, of_others) = (members.len() as f64, non_members.len() as f64);
        let (mut found, mut mistaken, mut pairs) = (0.0, 0.0, 0.0);
        let mut best = Self {
            accuracy: 0.5,
            auc: 0.0,
            examples: members.len(),
            tpr: 0.0,
        };
        // A threshold lies between scores: examples of one score are told apart by none.
        for equal in all.chunk_by(|(left, _), (right, _)| left == right) {
            let members = equal.iter().filter(|(_, is_member)| *is_member).count() as f64;
            let others = equal.len() as f64 - members;
            // The members of this score are ahead of the non-members behind it, and half ahead of those of the same.
            pairs += members * (of_others - mistaken - others / 2.0);
            found += members;
            mistaken += others;
            let (tpr, fpr) = (found / of_members, mistaken / of_others);
            best.accuracy = f64::max(best.accuracy, f64::midpoint(tpr, 1.0 - fpr));
            if fpr <= FALSE_POSITIVES {
                best.tpr = tpr;
            }
        }
        best.auc = pairs / (of_members * of_others);
        Some(best)
    }

    /// Accuracy, area under the curve, true-positive rate, and the number of members.
    pub(crate) fn figures(self) -> [f64; 4] {
        [self.accuracy, self.auc, self.tpr, self.examples as f64]
    }
}

/// The modified entropy of a prediction with these `logits`, one for each class, if `label` is the true one:
/// `−(1 − p_y) ln p_y − Σ_{i≠y} p_i ln(1 − p_i)` (Song and Mittal, 2021, Section 3.3). 0 if the model is sure and right, large if it is sure
/// and wrong.
pub(crate) fn modified_entropy(logits: &[f32], label: usize) -> f64 {
    let logits: Vec<f64> = logits.iter().copied().map(f64::from).collect();
    let terms = logits.iter().enumerate().map(|(class, logit)| {
        let rest = log_sum_but(&logits, class);
        // p or 1 − p would be rounded to 1.
        let [ln_p, ln_rest] = [ln_sigmoid(logit - rest), ln_sigmoid(rest - logit)];
        match class == label {
            true => -product(ln_rest, ln_p),
            false => -product(ln_p, ln_rest),
        }
    });
    terms.sum()
}

/// `exp(ln_share) · of`, 0 if the share is 0.
fn product(ln_share: f64, of: f64) -> f64 {
    match ln_share.exp() {
        0.0 => 0.0,
        share => share * of,
    }
}

/// `ln (1 / (1 + exp(−x)))`.
fn ln_sigmoid(x: f64) -> f64 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

/// `ln Σ exp(x)` over all `logits` but that of class `without`.
fn log_sum_but(logits: &[f64], without: usize) -> f64 {
    let counted = || {
        let classes = logits.iter().enumerate();
        classes.filter_map(|(class, logit)| (class != without).then_some(*logit))
    };
    let largest = counted().fold(f64::NEG_INFINITY, f64::max);
    match largest.is_finite() {
        true => largest + counted().map(|x| (x - largest).exp()).sum::<f64>().ln(),
        false => largest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(members: &[f64], non_members: &[f64]) -> InferredMembership {
        InferredMembership::of(members, non_members).unwrap()
    }

    /// The figures by trying every threshold and every pair.
    fn plain(members: &[f64], non_members: &[f64]) -> InferredMembership {
        let share = |scores: &[f64], threshold: f64| {
            let below = scores.iter().filter(|score| **score <= threshold);
            below.count() as f64 / scores.len() as f64
        };
        let thresholds = members.iter().chain(non_members).chain([&f64::MIN]);
        let rates: Vec<[f64; 2]> = thresholds
            .map(|threshold| [members, non_members].map(|scores| share(scores, *threshold)))
            .collect();
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let pair = |member: &f64, other: &f64| match member.total_cmp(other) {
            std::cmp::Ordering::Less => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 0.0,
        };
        let pairs = members
            .iter()
            .flat_map(|member| non_members.iter().map(move |other| pair(member, other)));
        InferredMembership {
            accuracy: most(&mut rates.iter().map(|[tpr, fpr]| (tpr + 1.0 - fpr) / 2.0)),
            auc: pairs.sum::<f64>() / (members.len() * non_members.len()) as f64,
            examples: members.len(),
            tpr: most(
                &mut rates
                    .iter()
                    .filter(|[_, fpr]| *fpr <= 0.01)
                    .map(|[tpr, _]| *tpr),
            ),
        }
    }

    #[test]
    fn members_that_all_score_lower_are_all_found() {
        let [accuracy, auc, tpr] = [1.0; 3];
        let all = InferredMembership {
            accuracy,
            auc,
            examples: 2,
            tpr,
        };
        assert_eq!(of(&[0.1, 0.2], &[0.3, 0.9, 0.4]), all);
    }

    #[test]
    fn scores_that_are_all_the_same_tell_nothing() {
        let [accuracy, auc, tpr] = [0.5, 0.5, 0.0];
        let nothing = InferredMembership {
            accuracy,
            auc,
            examples: 4,
            tpr,
        };
        assert_eq!(of(&[1.0; 4], &[1.0; 4]), nothing);
        assert_eq!(InferredMembership::of(&[], &[1.0]), None);
        assert_eq!(InferredMembership::of(&[1.0], &[]), None);
    }

    #[test]
    fn members_that_score_higher_are_no_better_than_chance() {
        let [accuracy, auc, tpr] = [0.5, 0.0, 0.0];
        let worst = InferredMembership {
            accuracy,
            auc,
            examples: 2,
            tpr,
        };
        assert_eq!(of(&[3.0, 2.0], &[1.0, 0.5]), worst);
    }

    #[test]
    fn figures_are_those_of_every_threshold_and_every_pair() {
        // Ties among and between both, and enough non-members that one in a hundred may be mistaken.
        let score = |index: u64, scale: u64| (index * 7919 % 83) as f64 / scale as f64;
        for scale in [3, 11, 83] {
            let members: Vec<f64> = (0..60).map(|index| score(index, scale).floor()).collect();
            let others: Vec<f64> = (0..250)
                .map(|index| (score(index + 17, scale) + 0.4).floor())
                .collect();
            let [found, expected] = [of(&members, &others), plain(&members, &others)];
            assert!((found.accuracy - expected.accuracy).abs() < 1e-12);
            assert!((found.auc - expected.auc).abs() < 1e-12);
            assert_eq!(found.tpr, expected.tpr);
        }
    }

    #[test]
    fn modified_entropy_is_that_of_the_formula() {
        let logits = [1.0f32, -0.5, 2.0];
        let exps = logits.map(|logit| f64::from(logit).exp());
        let p = exps.map(|exp| exp / exps.iter().sum::<f64>());
        for label in 0..3 {
            let others = (0..3).filter(|class| *class != label);
            let others: f64 = others.map(|class| p[class] * (1.0 - p[class]).ln()).sum();
            let expected = -(1.0 - p[label]) * p[label].ln() - others;
            assert!((modified_entropy(&logits, label) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn modified_entropy_of_sure_predictions_is_finite_and_in_order() {
        let right = |margin: f32| modified_entropy(&[margin, 0.0], 0);
        let wrong = |margin: f32| modified_entropy(&[margin, 0.0], 1);
        assert!(right(300.0) < right(40.0) && right(40.0) < right(20.0));
        assert!(right(300.0) > 0.0);
        assert!(
            (wrong(2000.0) - 4000.0).abs() < 1e-9,
            "both terms are the margin"
        );
        assert_eq!(right(2000.0), 0.0);
    }
}
