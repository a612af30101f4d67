//! `cnn_femnist` and `cnn_cifar`: P-FedAvg's networks, which differ in the hidden layer.

use super::{Architecture, Sketch, Window};

/// Two convolutions, each halved by a maximum, and one hidden layer.
pub(super) struct TwoConvolutions {
    /// Units of the hidden layer.
    pub(super) hidden: usize,
}

impl Architecture for TwoConvolutions {
    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        for channels in [32, 64] {
            sketch.convolution(channels, Window::square(5, 1, 2), true);
            sketch.relu();
            sketch.max_pool(Window::square(2, 2, 0));
        }
        sketch.dense(self.hidden, true);
        sketch.relu();
        sketch.dense(outputs, true);
    }
}
