//! Memory of stacks that are gone, for those that come: methods that hold a copy of all models during a round would ask the
//! system for it anew in each.

use burn::tensor::Shape;
use burn_flex::FlexTensor;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Floats from which on memory is kept; the allocator keeps what is smaller.
const KEPT: usize = 1 << 18;

/// Memory that no stack holds.
#[derive(Debug, Default)]
pub(crate) struct Recycled(Mutex<Vec<FlexTensor>>);

impl Recycled {
    /// Memory of `shape`, with what it last held. If there is none, pieces that are no larger go back to the system instead.
    pub(crate) fn take(&self, shape: &Shape) -> Option<FlexTensor> {
        let mut kept = self.lock();
        let same = |tensor: &FlexTensor| tensor.layout().shape() == shape;
        let place = kept.iter().position(same);
        if place.is_none() {
            kept.retain(|tensor| tensor.layout().shape().num_elements() > shape.num_elements());
        }
        place.map(|place| kept.swap_remove(place))
    }

    /// Keeps the memory of `tensor`, unless it is small or somebody else holds it. Pieces of about its size but of another
    /// shape go back to the system: where sizes vary from call to call, no more than one of them is kept.
    pub(crate) fn put(&self, tensor: FlexTensor) {
        let size = tensor.layout().shape().num_elements();
        if size < KEPT || !tensor.is_unique() {
            return;
        }
        let mut kept = self.lock();
        kept.retain(|other| {
            let shape = other.layout().shape();
            let elements = shape.num_elements();
            shape == tensor.layout().shape() || elements >= 2 * size || size >= 2 * elements
        });
        kept.push(tensor);
    }

    /// Gives all of it back to the system.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<FlexTensor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::DType;

    fn tensor(rows: usize, columns: usize) -> FlexTensor {
        FlexTensor::zeros(Shape::from(vec![rows, columns]), DType::F32)
    }

    #[test]
    fn memory_is_found_again_by_its_shape() {
        let recycled = Recycled::default();
        let (same, small) = (Shape::from(vec![2, KEPT]), Shape::from(vec![1, 1]));
        recycled.put(tensor(2, KEPT));
        assert!(recycled.take(&small).is_none());
        assert!(recycled.take(&same).is_some() && recycled.take(&same).is_none());
        recycled.put(tensor(2, KEPT));
        recycled.clear();
        assert!(recycled.take(&same).is_none());
    }

    #[test]
    fn smaller_pieces_are_given_back_before_more_is_asked_for() {
        let recycled = Recycled::default();
        let shapes = [1, 2, 3].map(|rows| Shape::from(vec![rows, KEPT]));
        recycled.put(tensor(1, KEPT));
        recycled.put(tensor(3, KEPT));
        assert!(recycled.take(&shapes[1]).is_none());
        assert!(recycled.take(&shapes[0]).is_none());
        assert!(recycled.take(&shapes[2]).is_some());
    }

    #[test]
    fn of_sizes_that_vary_the_last_is_kept() {
        let recycled = Recycled::default();
        for rows in [3, 9, 10, 10, 8] {
            recycled.put(tensor(rows, KEPT));
        }
        let mut kept = |rows: usize| recycled.take(&Shape::from(vec![rows, KEPT])).is_some();
        assert_eq!([8, 3, 9, 10].map(&mut kept), [true, true, false, false]);
    }

    #[test]
    fn what_is_small_or_held_elsewhere_is_not_kept() {
        let recycled = Recycled::default();
        let (small, shared) = (tensor(1, KEPT - 1), tensor(1, KEPT));
        let (of_small, of_shared) = (
            small.layout().shape().clone(),
            shared.layout().shape().clone(),
        );
        recycled.put(shared.clone());
        recycled.put(small);
        assert!(recycled.take(&of_small).is_none() && recycled.take(&of_shared).is_none());
    }
}
