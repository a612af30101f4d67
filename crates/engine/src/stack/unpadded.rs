//! The rows of a stack without padding, for those who exchange them with other programs.

use crate::stack::Stack;
use std::borrow::Cow;

impl Stack {
    /// The parameters of all rows without padding, `[R, P]` row-major: the layers one after another. Waits for the device.
    pub fn unpadded(&self) -> Vec<f32> {
        let rows = self
            .host()
            .map_or_else(|| Cow::from(self.to_host()), Cow::from);
        let layout = self.layout();
        // Each number is written once: zeroed memory would be written twice.
        let mut unpadded = Vec::with_capacity(self.rows() * layout.parameters());
        for row in rows.chunks_exact(layout.width().max(1)) {
            for block in layout.blocks() {
                unpadded.extend_from_slice(&row[block.range()]);
            }
        }
        unpadded
    }
}
