//! One parameter of a user's own model.

use super::initial::Initial;
use crate::error::EngineError;
use crate::network::layout::Layout;
use crate::stream::{Key, Purpose, stream};
use std::collections::BTreeSet;

/// A named parameter of a model of the user's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name that the model asks for it by, unique within the model.
    pub name: String,
    /// Its shape in one model, without the rows of a stack.
    pub shape: Vec<usize>,
    /// Where its numbers start.
    pub initial: Initial,
}

impl Parameter {
    /// A parameter of `shape`.
    pub fn new(name: impl Into<String>, shape: impl Into<Vec<usize>>, initial: Initial) -> Self {
        Self {
            name: name.into(),
            shape: shape.into(),
            initial,
        }
    }

    /// Number of its numbers; `None` beyond what a machine can count.
    fn size(&self) -> Option<usize> {
        let times = |size: usize, length: &usize| size.checked_mul(*length);
        self.shape.iter().try_fold(1, times)
    }
}

/// The arena that `parameters` lie in, one block each: its columns are the last dimension of the parameter.
///
/// # Errors
/// [`EngineError::OwnModel`] if there are none, two have one name, or one has no numbers or cannot be drawn.
pub(crate) fn arrange(parameters: &[Parameter]) -> Result<Layout, EngineError> {
    let refuse = |reason: String| Err(EngineError::OwnModel { reason });
    if parameters.is_empty() {
        return refuse("it has no parameters, so there is nothing to train".to_owned());
    }
    let (mut layout, mut names) = (Layout::default(), BTreeSet::new());
    for parameter in parameters {
        let (name, shape) = (&parameter.name, &parameter.shape);
        if !names.insert(name) {
            return refuse(format!("two parameters are named `{name}`"));
        }
        let Some(size) = parameter.size().filter(|size| *size > 0 && *size < MOST) else {
            return refuse(format!(
                "the parameter `{name}` is of shape {shape:?}, but it must have between 1 and {MOST} numbers"
            ));
        };
        let Some(columns) = shape.last() else {
            return refuse(format!(
                "the parameter `{name}` has no dimensions; a single number is of shape [1]"
            ));
        };
        parameter.initial.check(name)?;
        layout.push(name.clone(), size / columns, *columns);
    }
    Ok(layout)
}

/// Draws a model of `parameters`, `[P_pad]`. Every parameter has a stream of its own.
pub(crate) fn draw(parameters: &[Parameter], layout: &Layout, seed: u64, row: u32) -> Vec<f32> {
    let mut values = vec![0.0; layout.width()];
    for (layer, (block, parameter)) in (0..).zip(layout.blocks().iter().zip(parameters)) {
        let key = Key {
            row,
            layer,
            ..Key::default()
        };
        let mut rng = stream(seed, Purpose::Initialisation, key);
        parameter.initial.draw(&mut values[block.range()], &mut rng);
    }
    values
}

/// Far beyond any memory, and short of overflow.
const MOST: usize = 1 << 48;
