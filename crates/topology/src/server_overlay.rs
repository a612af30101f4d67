//! The traffic of an overlay whose nodes are servers with clients of their own.
//!
//! P-FedAvg compares overlays of M servers in its Table III: p is [`Spectrum::p`](crate::Spectrum::p) under
//! `metropolis_hastings` weights, the disconnection tolerance is [`Overlay::edge_connectivity`], less one if it is to
//! be the links that may be lost at will, and the two columns of traffic are the functions of this file.
//!
//! Of the values of p that Section VII-B.1 gives for nine servers, 1.0, 0.84, 0.29 and 0.08 are those of the complete
//! overlay, the 3x3 torus, the ring (.2876) and the barbell (.0783). Its 0.12 for the balanced tree is not reached: the
//! binary tree of nine nodes has .0894 and the ternary .1018; the tree with edges 0-1 0-2 0-3 1-4 1-5 2-6 2-7 3-8, whose
//! root has three children, comes closest to it with .1295.

use crate::{Overlay, TopologyError};

impl Overlay {
    /// Models that all servers and clients send in a round: `2 K + ‖L - I‖₀`, a model down to and one up from each of
    /// the `K` clients that take part, and one along every edge in both directions.
    ///
    /// `participants` is `[M]`, the clients of each server that take part.
    ///
    /// # Source
    /// P-FedAvg (Liu et al.), Tables II and III, "Total", in models of size s.
    ///
    /// # Errors
    /// [`TopologyError::Participants`] unless there is one number for each server.
    pub fn total_models(&self, participants: &[usize]) -> Result<usize, TopologyError> {
        self.check_participants(participants)?;
        Ok(2 * (participants.iter().sum::<usize>() + self.edge_count()))
    }

    /// Models that the busiest server sends and receives in a round: `max_i 2 (K_i + d_i)`, for `K_i` clients that take
    /// part and `d_i` neighbours.
    ///
    /// `participants` is `[M]`, the clients of each server that take part.
    ///
    /// # Source
    /// P-FedAvg (Liu et al.), Tables II and III, "Peak", in models of size s.
    ///
    /// # Errors
    /// [`TopologyError::Participants`] unless there is one number for each server.
    pub fn peak_models(&self, participants: &[usize]) -> Result<usize, TopologyError> {
        self.check_participants(participants)?;
        let traffic = |(server, clients): (usize, &usize)| 2 * (clients + self.degree(server));
        let busiest = participants.iter().enumerate().map(traffic).max();
        Ok(busiest.expect("an overlay has at least one node"))
    }

    fn check_participants(&self, participants: &[usize]) -> Result<(), TopologyError> {
        let (found, servers) = (participants.len(), self.nodes());
        match found == servers {
            true => Ok(()),
            false => Err(TopologyError::Participants { found, servers }),
        }
    }
}
