//! How much of a text each client owns, and of how many different tokens.

use std::fmt::Write;

use super::Windows;
use crate::Partition;

/// What a client owns of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextShare {
    /// Windows.
    pub examples: usize,
    /// Tokens of the text that the windows cover, with the token after each window.
    pub tokens: usize,
    /// Different tokens among those.
    pub vocabulary: usize,
}

impl Partition {
    /// What each client owns of the text that the examples are `windows` of, `[N]`.
    ///
    /// # Panics
    /// If the windows are not those that were dealt, or if a token is not below `classes`.
    ///
    /// # Complexity
    /// Each client's tokens are passed over once; nothing is of size clients by classes.
    pub fn text_shares(&self, windows: &Windows, classes: usize) -> Vec<TextShare> {
        // The last client, counted from 1, that was seen to own each token.
        let mut owned_by = vec![0; classes];
        let share = |client: usize| {
            let shard = self.shard(client);
            let mut starts: Vec<usize> = shard
                .iter()
                .map(|&e| windows.starts()[e as usize] as usize)
                .collect();
            starts.sort_unstable();
            let (mut covered, mut tokens, mut vocabulary) = (0, 0, 0);
            for start in starts {
                let end = start + windows.length() + 1;
                let new = &windows.text()[start.max(covered).min(end)..end];
                covered = end;
                tokens += new.len();
                for &token in new {
                    let last = &mut owned_by[usize::from(token)];
                    vocabulary += usize::from(*last != client + 1);
                    *last = client + 1;
                }
            }
            TextShare {
                examples: shard.len(),
                tokens,
                vocabulary,
            }
        };
        (0..self.clients()).map(share).collect()
    }

    /// A table `client,examples,tokens,vocabulary` with a line for every client.
    ///
    /// # Panics
    /// As [`text_shares`](Self::text_shares).
    pub fn to_text_csv(&self, windows: &Windows, classes: usize) -> String {
        let mut csv = String::from("client,examples,tokens,vocabulary\n");
        for (client, share) in self.text_shares(windows, classes).iter().enumerate() {
            let TextShare {
                examples,
                tokens,
                vocabulary,
            } = share;
            writeln!(csv, "{client},{examples},{tokens},{vocabulary}")
                .expect("a String takes any text");
        }
        csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Examples, Features};

    #[test]
    fn overlapping_windows_count_their_tokens_once() {
        let text = std::sync::Arc::new(vec![0, 1, 0, 1, 2, 2, 3, 0]);
        let examples = Examples::windows(text, vec![4, 0, 1, 3], 2, 5).unwrap();
        let Features::Tokens(windows) = examples.features() else {
            panic!("windows")
        };
        let partition = Partition::new(vec![vec![2, 1], vec![0, 3], vec![]], 4);
        assert_eq!(
            partition,
            Err(crate::PartitionError::EmptyClient { client: 2 })
        );
        let partition = Partition::new(vec![vec![2, 1], vec![0, 3]], 4).unwrap();
        assert_eq!(
            partition.to_text_csv(windows, 5),
            "client,examples,tokens,vocabulary\n0,2,4,2\n1,2,4,3\n"
        );
    }
}
