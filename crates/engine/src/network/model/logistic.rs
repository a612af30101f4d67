//! `logistic` and `binary_logistic`: logistic regression.

use super::{Architecture, Loss, Sketch};
use crate::error::EngineError;
use crate::network::checks::expect_two_classes;

/// An output for each class.
pub(super) struct Logistic;

/// One output for two classes.
pub(super) struct BinaryLogistic;

impl Architecture for Logistic {
    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        sketch.dense(outputs, true);
    }
}

impl Architecture for BinaryLogistic {
    fn loss(&self, classes: usize) -> Result<Loss, EngineError> {
        expect_two_classes(classes, "binary_logistic", "")?;
        Ok(Loss::Sigmoid)
    }

    fn draw(&self, sketch: &mut Sketch, outputs: usize) {
        sketch.dense(outputs, true);
    }
}
