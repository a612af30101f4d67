//! Where each parameter block of a model lies in a row of the stack.

/// Blocks start at multiples of this many floats, and rows are padded to it: layer views of any device are then
/// aligned, and no vector of a kernel straddles two rows.
pub const ALIGNMENT: usize = 64;

/// One parameter block, a row-major matrix `[inputs, outputs]`; a bias has one input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Block {
    /// Name as a user would look it up, for example `dense0.weight`.
    pub name: String,
    /// First float of the block within a row, a multiple of [`ALIGNMENT`].
    pub offset: usize,
    /// Rows of the matrix.
    pub inputs: usize,
    /// Columns of the matrix.
    pub outputs: usize,
}

impl Block {
    /// Number of parameters.
    pub fn size(&self) -> usize {
        self.inputs * self.outputs
    }

    /// Floats of the block within a row.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.size()
    }
}

/// The blocks of a model in one row of a stack. The floats between and after blocks are padding and stay zero.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    blocks: Vec<Block>,
    width: usize,
}

impl Layout {
    /// Appends a block and returns its index.
    pub fn push(&mut self, name: impl Into<String>, inputs: usize, outputs: usize) -> usize {
        self.blocks.push(Block {
            name: name.into(),
            offset: self.width,
            inputs,
            outputs,
        });
        self.width += (inputs * outputs).next_multiple_of(ALIGNMENT);
        self.blocks.len() - 1
    }

    /// The blocks in the order of their offsets.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Number of trainable parameters `P`, padding left out.
    pub fn parameters(&self) -> usize {
        self.blocks.iter().map(Block::size).sum()
    }

    /// Floats of a row, padding included: a multiple of [`ALIGNMENT`].
    pub fn width(&self) -> usize {
        self.width
    }

    /// Copies the parameters of a padded row, block after block, without the padding: `[P]`.
    pub fn pack(&self, row: &[f32]) -> Vec<f32> {
        self.blocks
            .iter()
            .flat_map(|block| row[block.range()].iter().copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_disjoint() {
        let mut layout = Layout::default();
        layout.push("weight", 7, 13);
        layout.push("bias", 1, 13);
        let blocks = layout.blocks();
        assert_eq!(blocks[0].range(), 0..91);
        assert_eq!(blocks[1].range(), 128..141);
        assert_eq!((layout.parameters(), layout.width()), (104, 192));
    }
}
