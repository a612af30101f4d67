//! Moving a stack to or from the host a block at a time, so that no second copy of it is held.

use crate::stack::Stack;
use std::ops::Range;

/// Floats of a block: 4 MiB. On a GPU a block is at least one row.
const BLOCK: usize = 1 << 20;

impl Stack {
    /// Passes all values, `[R, P_pad]` row-major, to `take`, one block after another. Waits for the device.
    ///
    /// # Errors
    /// The first error of `take`.
    pub fn each_block<E>(&self, mut take: impl FnMut(&[f32]) -> Result<(), E>) -> Result<(), E> {
        if let Some(values) = self.storage.host() {
            return values.chunks(BLOCK).try_for_each(take);
        }
        let mut taken = Ok(());
        for rows in self.blocks_of_rows() {
            let rows: Vec<u32> = rows.collect();
            let block = self.gather(&rows).expect("the stack has these rows");
            let values = block.to_host();
            taken = taken.and_then(|()| take(&values));
            // Other ranks bring their rows to the end, whatever fails here.
            if taken.is_err() && self.device().ranks().is_none() {
                break;
            }
        }
        taken
    }

    /// Has `give` write all values in place, `[R, P_pad]` row-major, one block after another.
    ///
    /// # Errors
    /// The first error of `give`; values that were not written stay as they are.
    pub fn fill_blocks<E>(
        &mut self,
        mut give: impl FnMut(&mut [f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(values) = self.storage.host_mut() {
            return values.chunks_mut(BLOCK).try_for_each(give);
        }
        for rows in self.blocks_of_rows() {
            let rows: Vec<u32> = rows.collect();
            let mut values = vec![0.0; rows.len() * self.layout().width()];
            give(&mut values)?;
            let block = Self::from_host(self.device(), self.layout(), values)
                .expect("a block is no larger than its stack, which fits the device");
            self.scatter(&rows, &block)
                .expect("the stack has these rows");
        }
        Ok(())
    }

    /// The rows of each block.
    fn blocks_of_rows(&self) -> impl Iterator<Item = Range<u32>> + use<> {
        let (rows, width) = (self.rows(), self.layout().width().max(1));
        let most = (BLOCK / width).max(1);
        (0..rows)
            .step_by(most)
            .map(move |first| first as u32..rows.min(first + most) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::device::request::DeviceRequest;
    use crate::network::layout::Layout;
    use std::sync::Arc;

    /// Three rows of half a block and a bit each.
    fn wide() -> Arc<Layout> {
        let mut layout = Layout::default();
        layout.push("weight", 1, BLOCK / 2 + 64);
        Arc::new(layout)
    }

    /// The processor, and a GPU if there is one.
    fn devices() -> Vec<Device> {
        let requests = [DeviceRequest::Cpu, DeviceRequest::Wgpu(0)];
        let opened = requests.map(|request| Device::open(request, None, None));
        opened.into_iter().flatten().collect()
    }

    #[test]
    fn rows_go_out_and_come_back_block_by_block() {
        let layout = wide();
        let values: Vec<f32> = (0..3 * layout.width()).map(|at| at as f32).collect();
        for device in devices() {
            let stack = Stack::from_host(&device, &layout, values.clone()).unwrap();
            let (mut taken, mut most) = (Vec::new(), 0);
            let take = |block: &[f32]| {
                most = most.max(block.len());
                taken.extend_from_slice(block);
                Ok::<_, ()>(())
            };
            stack.each_block(take).unwrap();
            assert!(taken == values && most <= BLOCK);

            let mut copy = Stack::zeros(&device, &layout, 3);
            let mut left = taken.as_slice();
            let give = |block: &mut [f32]| {
                let (next, rest) = left.split_at(block.len());
                block.copy_from_slice(next);
                left = rest;
                Ok::<_, ()>(())
            };
            copy.fill_blocks(give).unwrap();
            assert!(left.is_empty() && copy.to_host() == values);
        }
    }

    #[test]
    fn the_first_error_stops_the_transfer() {
        let layout = wide();
        for device in devices() {
            let mut stack = Stack::zeros(&device, &layout, 3);
            let mut calls = 0;
            let fails = |_: &[f32]| {
                calls += 1;
                Err("full")
            };
            assert_eq!((stack.each_block(fails), calls), (Err("full"), 1));
            assert_eq!(stack.fill_blocks(|_| Err("torn")), Err("torn"));
        }
    }
}
