//! `lenet`: LeNet-5 with ReLU and maxima.

use super::{Architecture, Sketch, Window};

/// Two convolutions, each halved by a maximum, and two hidden layers.
pub(super) struct Lenet;

impl Architecture for Lenet {
    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        for channels in [6, 16] {
            sketch.convolution(channels, Window::square(5, 1, 0), true);
            sketch.max_pool(Window::square(2, 2, 0));
            sketch.relu();
        }
        for units in [120, 84] {
            sketch.dense(units, true);
            sketch.relu();
        }
        sketch.dense(outputs, true);
    }
}
