//! `cnn_emnist`: the network for EMNIST of Reddi et al.

use super::{Architecture, Sketch, Window};

/// Two convolutions and a hidden layer, with dropout.
pub(super) struct CnnEmnist;

impl Architecture for CnnEmnist {
    /// ReLU follows the maximum, which comes to the same as a ReLU before it.
    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        sketch.convolution(32, Window::square(3, 1, 0), true);
        sketch.relu();
        sketch.convolution(64, Window::square(3, 1, 0), true);
        sketch.max_pool(Window::square(2, 2, 0));
        sketch.relu();
        sketch.drop_out(0.25);
        sketch.dense(128, true);
        sketch.relu();
        sketch.drop_out(0.5);
        sketch.dense(outputs, true);
    }
}
