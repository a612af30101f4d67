//! The examples of a batch as the first layer reads them, and which of their numbers they share.
//!
//! Images are dark at their rims: of a batch of twenty from MNIST 45 % of the pixels are the same in all. A first dense layer
//! takes such a number once for all examples: forward its product with the weights, back its product with the sum of
//! the gradients.

use crate::cpu::Cpu;
use crate::kernels::{ColumnSubset, PairColumns};
use crate::network::Network;
use crate::network::layer::Layer;
use crate::network::precision::Precision;

/// Outputs from which on it pays.
const WIDE: usize = 32;

/// What examples are read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    Training,
    Judging,
}

impl Goal {
    /// Whether the first layer of `network` takes numbers that all examples share once: it is dense, and wide enough for that
    /// to pay. Models of a single layer are judged many beside each other.
    pub(crate) fn parts(self, network: &Network) -> bool {
        let nodes = network.nodes();
        let many = self == Self::Judging && nodes.len() == 1;
        let Some(Layer::Dense(layer)) = nodes.first().map(|node| &node.layer) else {
            return false;
        };
        // Pairs of numbers are taken as they come.
        let singles = network.precision() == Precision::F32;
        singles && layer.places == 1 && (many || layer.outputs >= WIDE)
    }
}

/// Examples, and which of their numbers are the same in all.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// `[B, D]`, in room that may be larger.
    pub(crate) x: Vec<f32>,
    /// The numbers that differ and those that do not, each in ascending order; of no meaning unless `parted`.
    varying: Vec<u32>,
    constant: Vec<u32>,
    parted: bool,
    /// `[B, ⌈D / 2⌉]` pairs of numbers in bfloat16, if that is what the first layer multiplies; else nothing.
    pairs: Vec<f32>,
}

/// The numbers of an example in two parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// Those in which the examples of a batch differ.
    pub(crate) varying: ColumnSubset<'a>,
    /// Those that are the same in all.
    pub(crate) constant: ColumnSubset<'a>,
}

impl Inputs {
    /// The numbers in which the examples differ, and the others, if these are enough for it to pay.
    pub(crate) fn parts(&self) -> Option<Parts<'_>> {
        self.parted.then(|| Parts {
            varying: ColumnSubset::new(&self.varying),
            constant: ColumnSubset::new(&self.constant),
        })
    }

    /// The numbers in pairs, if the first layer multiplies such.
    pub(crate) fn pairs(&self) -> Option<&[f32]> {
        (!self.pairs.is_empty()).then_some(&self.pairs)
    }

    /// Writes the numbers of the first `batch` examples, `width` each, in pairs.
    pub(crate) fn pair(&mut self, cpu: &Cpu, batch: usize, width: usize) {
        self.pairs.resize(batch * width.div_ceil(2), 0.0);
        cpu.instructions().pair(PairColumns {
            x: &self.x,
            stride: width,
            columns: width,
            to: &mut self.pairs,
        });
    }

    /// Takes no number as one that all examples share.
    pub(crate) fn whole(&mut self) {
        self.parted = false;
    }

    /// Finds the numbers, of `width`, that are the same in the first `batch` examples.
    pub(crate) fn part(&mut self, cpu: &Cpu, batch: usize, width: usize) {
        cpu.instructions().vectorize(
            #[inline(always)]
            || self.find(batch, width),
        );
    }

    #[inline(always)]
    fn find(&mut self, batch: usize, width: usize) {
        // Lists pay from an eighth on.
        let pays = |constant: usize| batch > 1 && 8 * constant >= width;
        let mut examples = self.x[..batch * width].chunks_exact(width);
        let (first, second) = (examples.next(), examples.next());
        let (first, second) = (first.unwrap_or_default(), second.unwrap_or_default());
        let differs = |(x, other): (&f32, &f32)| x.to_bits() ^ other.to_bits();
        let differences = &mut self.varying;
        differences.clear();
        differences.extend(first.iter().zip(second).map(differs));
        self.parted = pays(differences.iter().filter(|bits| **bits == 0).count());
        if !self.parted {
            return;
        }
        for example in examples {
            let (bits, first, example) = (
                &mut differences[..width],
                &first[..width],
                &example[..width],
            );
            for at in 0..width {
                bits[at] |= first[at].to_bits() ^ example[at].to_bits();
            }
        }
        self.constant.resize(width, 0);
        // The list takes the place of differences that have been looked at.
        let (mut varying, mut constant) = (0, 0);
        for column in 0..width {
            let varies = differences[column] != 0;
            (differences[varying], self.constant[constant]) = (column as u32, column as u32);
            varying += usize::from(varies);
            constant += usize::from(!varies);
        }
        differences.truncate(varying);
        self.constant.truncate(constant);
        self.parted = pays(constant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Cpu;

    #[test]
    fn numbers_are_parted_by_whether_all_examples_share_them() {
        let cpu = Cpu::new(Some(1), None).unwrap();
        let mut inputs = Inputs {
            x: vec![-0.4; 5 * 16],
            ..Inputs::default()
        };
        for (at, value) in [(3, 1.0), (16 + 5, f32::NAN), (48 + 15, 0.4)] {
            inputs.x[at] = value;
        }
        inputs.x[64] = 7.0; // Beyond the batch.
        inputs.part(&cpu, 4, 16);
        assert_eq!(inputs.varying, [3, 5, 15]);
        assert_eq!(
            inputs.constant,
            [0, 1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14]
        );
        assert!(inputs.parts().is_some());
        inputs.part(&cpu, 1, 16);
        assert!(inputs.parts().is_none(), "one example shares with none");
        inputs.x[16..31].fill(1.0);
        inputs.part(&cpu, 4, 16);
        assert!(inputs.parts().is_none(), "one of sixteen is too few");
    }
}
