//! Local steps that move some layers alone.

use crate::network::layout::Layout;
use std::ops::Range;

/// The layers that local steps move. The others keep their bits, and so does their velocity; their gradients count in no norm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainedLayers {
    trained: Vec<Range<usize>>,
    frozen: Vec<Range<usize>>,
}

impl TrainedLayers {
    /// The blocks of `layout` whose names `is_trained` says; `None` if all are trained.
    pub fn of(layout: &Layout, is_trained: impl Fn(&str) -> bool) -> Option<Self> {
        let blocks = layout.blocks().iter();
        let (trained, frozen): (Vec<_>, Vec<_>) = blocks.partition(|block| is_trained(&block.name));
        let ranges = |blocks: Vec<&crate::network::layout::Block>| {
            blocks.into_iter().map(|block| block.range()).collect()
        };
        (!frozen.is_empty()).then(|| Self {
            trained: ranges(trained),
            frozen: ranges(frozen),
        })
    }

    /// The places of their parameters in a row, ascending; each begins at a multiple of the alignment of a layout.
    pub(crate) fn trained(&self) -> &[Range<usize>] {
        &self.trained
    }

    /// The places of the parameters of the others.
    pub(crate) fn frozen(&self) -> &[Range<usize>] {
        &self.frozen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_where_the_layout_has_them() {
        let mut layout = Layout::default();
        layout.push("first.weight", 3, 30);
        layout.push("first.bias", 1, 30);
        layout.push("last", 2, 5);
        let layers = TrainedLayers::of(&layout, |name| name.starts_with("first")).unwrap();
        assert_eq!(layers.trained(), [0..90, 128..158]);
        assert_eq!(layers.frozen(), std::slice::from_ref(&(192..202)));
        assert_eq!(TrainedLayers::of(&layout, |_| true), None);
        let none = TrainedLayers::of(&layout, |_| false).unwrap();
        assert_eq!((none.trained().len(), none.frozen().len()), (0, 3));
    }
}
