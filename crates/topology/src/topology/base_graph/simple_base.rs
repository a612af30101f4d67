//! The Simple Base-(k+1) Graph: an exact mean for a number of nodes with large prime factors.
//!
//! The digits of the number of nodes in base k + 1 cut the nodes into blocks. Every block takes its mean. Then the blocks after
//! the first exchange with nodes of the first, so that theirs has the sum that it must have; those after the second
//! with the second, and so on. Last, blocks spread among themselves what they got.

use super::{Links, all, hyper_hypercube};
use std::ops::Range;

/// The simple graph of so many nodes.
pub(super) struct SimpleBase {
    pub(super) nodes: usize,
    /// k + 1.
    pub(super) most: usize,
    /// None if the nodes have no prime factor above k + 1.
    blocks: Vec<Block>,
}

/// The nodes of a digit: `parts` parts of `(k+1)^power` nodes, one after the other.
struct Block {
    first: usize,
    parts: usize,
    power: usize,
    /// Nodes of a part.
    size: usize,
}

impl Block {
    fn nodes(&self) -> usize {
        self.parts * self.size
    }

    /// Part `h`, from node `offset` on.
    fn part(&self, h: usize, offset: usize) -> Range<usize> {
        let first = offset + self.first + h * self.size;
        first..first + self.size
    }

    /// All parts, from node `offset` on.
    fn whole(&self, offset: usize) -> Range<usize> {
        let first = offset + self.first;
        first..first + self.nodes()
    }
}

impl SimpleBase {
    pub(super) fn of(nodes: usize, most: usize) -> Self {
        let blocks = match hyper_hypercube::factors(nodes, most) {
            Some(_) => Vec::new(),
            None => blocks(nodes, most),
        };
        Self {
            nodes,
            most,
            blocks,
        }
    }

    /// Rounds after which the nodes have their mean.
    pub(super) fn rounds(&self) -> usize {
        match self.blocks.first() {
            Some(first) => self.averaging_rounds() + 1 + first.power,
            None => hyper_hypercube::rounds(self.nodes, self.most),
        }
    }

    /// Rounds in which blocks take their own mean: those of the first, which has most.
    fn averaging_rounds(&self) -> usize {
        let first = self.blocks.first();
        first.map_or(0, |block| hyper_hypercube::rounds(block.nodes(), self.most))
    }

    /// Joins the nodes from `offset` on as in round `index`.
    pub(super) fn join(&self, index: usize, offset: usize, links: &mut Links) {
        if self.blocks.is_empty() {
            let members = all(offset..offset + self.nodes);
            return hyper_hypercube::join(&members, self.most, index, links);
        }
        let Some(step) = index.checked_sub(self.averaging_rounds()) else {
            for block in &self.blocks {
                let members = all(block.whole(offset));
                hyper_hypercube::join(&members, self.most, index, links);
            }
            return;
        };
        let last = self.blocks.len() - 1;
        if step < last {
            self.exchange(step, offset, links);
        }
        for (place, block) in self.blocks.iter().enumerate() {
            // The round after the one in which it gave, and for the last, which gives to none, after it got all.
            if let Some(round) = step.checked_sub((place + 1).min(last)) {
                self.spread(block, round, offset, links);
            }
        }
    }

    /// Joins every node of the later blocks to one of each part of the block at `place`.
    fn exchange(&self, place: usize, offset: usize, links: &mut Links) {
        let (block, later) = (&self.blocks[place], &self.blocks[place + 1..]);
        let of_later: usize = later.iter().map(Block::nodes).sum();
        let share = block.nodes() as f64 / (block.nodes() + of_later) as f64;
        let weight = share / block.parts as f64;
        let nodes = later.iter().rev().flat_map(|block| block.whole(offset));
        for (taken, node) in nodes.enumerate() {
            for part in 0..block.parts {
                links.pair(node, block.part(part, offset).end - 1 - taken, weight);
            }
        }
        // All nodes of a block have the same model here, if all had the mean of their blocks: what is left over may mix as it likes.
        let free = (0..block.parts).flat_map(|h| {
            let part = block.part(h, offset);
            part.start..part.end - of_later
        });
        let free: Vec<usize> = free.collect();
        free.chunks(self.most)
            .for_each(|clique| links.clique(clique));
    }

    /// Joins the nodes of each part, or those of the whole block if its parts are single nodes.
    fn spread(&self, block: &Block, round: usize, offset: usize, links: &mut Links) {
        if block.power == 0 {
            let members = all(block.whole(offset));
            return hyper_hypercube::join(&members, self.most, round, links);
        }
        for part in 0..block.parts {
            let members = all(block.part(part, offset));
            hyper_hypercube::join(&members, self.most, round, links);
        }
    }
}

/// The blocks of a number of nodes, by its digits in base `most`, the highest first; a digit that is zero has none.
fn blocks(nodes: usize, most: usize) -> Vec<Block> {
    let (mut power, mut size) = (0, 1);
    while nodes / size >= most {
        size *= most;
        power += 1;
    }
    let (mut blocks, mut first) = (Vec::new(), 0);
    loop {
        let parts = (nodes - first) / size;
        if parts > 0 {
            let block = Block {
                first,
                parts,
                power,
                size,
            };
            first += block.nodes();
            blocks.push(block);
        }
        if power == 0 {
            return blocks;
        }
        size /= most;
        power -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_make_blocks() {
        let of = |nodes, most| {
            let blocks = blocks(nodes, most);
            let parts = blocks.iter().map(|b| (b.first, b.parts, b.size, b.power));
            parts.collect::<Vec<_>>()
        };
        assert_eq!(of(25, 3), [(0, 2, 9, 2), (18, 2, 3, 1), (24, 1, 1, 0)]);
        assert_eq!(of(5, 2), [(0, 1, 4, 2), (4, 1, 1, 0)]);
    }

    #[test]
    fn the_exchange_has_the_weights_of_the_paper() {
        // 5 = 4 + 1: after two rounds of the hypercube, node 4 takes 4/5 of node 3; nodes 0 and 1 pair, and node 2 is alone.
        let mut links = Links::default();
        SimpleBase::of(5, 2).join(2, 0, &mut links);
        let there: Vec<_> = links
            .weights
            .into_iter()
            .filter(|(a, b, _)| a > b)
            .collect();
        assert_eq!(there, [(4, 3, 0.8), (1, 0, 0.5)]);
    }
}
