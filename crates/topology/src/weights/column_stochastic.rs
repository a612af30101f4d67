//! The weights of push-sum, whose columns sum to one unless messages are lost.

use super::equal;
use crate::{MixingMatrix, Overlay};

/// The weights of push-sum: `w_ij = 1 / (d_j + 1)` for `j = i` and each `j` that sends to `i`, `d_j` being how many nodes
/// hear `j`. Columns sum to one, so that the sum of all rows is kept; rows need not.
///
/// # Source
/// Assran et al., *Stochastic gradient push for distributed deep learning* (2019), Algorithm 1 with uniform weights.
#[must_use]
pub fn column_stochastic(overlay: &Overlay) -> MixingMatrix {
    if overlay.is_complete() {
        return equal(overlay).expect("an overlay has nodes, so 1/N is finite");
    }
    let sent = |node: usize| 1.0 / (overlay.listeners(node).len() + 1) as f64;
    MixingMatrix::over_neighbours(overlay, |_, j| sent(j), |i, _| sent(i))
}

/// The weights of push-sum where of the messages over `sent` those over `heard` arrive: what is lost goes to nobody, and columns of senders
/// that lose a message sum to less than one.
#[must_use]
pub fn arriving_shares(sent: &Overlay, heard: &Overlay) -> MixingMatrix {
    let whole = column_stochastic(sent);
    MixingMatrix::over_neighbours(heard, |i, j| whole.weight(i, j), |i, _| whole.weight(i, i))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    #[test]
    fn columns_sum_to_one() {
        let overlay = Overlay::directed(4, [(0, 1), (0, 2), (2, 3), (3, 0), (1, 3)]).unwrap();
        let matrix = column_stochastic(&overlay);
        let third = 1.0 / 3.0;
        assert_eq!(matrix.row(1).collect::<Vec<_>>(), [(0, third), (1, 0.5)]);
        assert_eq!(
            matrix.row(3).collect::<Vec<_>>(),
            [(1, 0.5), (2, 0.5), (3, 0.5)]
        );
        for sum in matrix.column_sums() {
            assert!((sum - 1.0).abs() < 1e-15, "{sum}");
        }
        assert!(!matrix.is_row_stochastic(1e-3));
    }

    #[test]
    fn what_is_lost_goes_to_nobody() {
        let sent = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let heard = sent.without_arcs(&[(1, 0)]);
        let matrix = arriving_shares(&sent, &heard);
        let third = 1.0 / 3.0;
        assert_eq!(matrix.row(0).collect::<Vec<_>>(), [(0, 0.5)]);
        assert_eq!(
            matrix.row(1).collect::<Vec<_>>(),
            [(0, 0.5), (1, third), (2, 0.5)]
        );
        assert_eq!(matrix.column_sums(), [1.0, third + third, 1.0]);
    }

    #[test]
    fn a_complete_overlay_is_averaged() {
        let both = Overlay::directed(2, [(0, 1), (1, 0)]).unwrap();
        assert_eq!(column_stochastic(&both).form(), Form::Average(&[0.5, 0.5]));
        let alone = Overlay::from_edges(1, []).unwrap();
        assert_eq!(column_stochastic(&alone).apply(&[3.0]), [3.0]);
    }
}
