//! Refuses models that cannot be built, before a network is made. Each error names the setting at fault.

use super::layer::{Layer, Node};
use super::model::Architecture;
use crate::error::EngineError;
use meshfold_data::Input;

/// Checks that the model reads what the examples are.
pub(super) fn check_input(
    architecture: &dyn Architecture,
    input: &Input,
) -> Result<(), EngineError> {
    match (architecture.reads_tokens(), input) {
        (true, Input::Numbers(_)) => {
            let needed = "a model that reads numbers, such as mlp";
            refuse("model", "", "one that reads text".into(), needed)
        }
        (false, Input::Tokens { .. }) => {
            let needed = "a model that reads text, such as char_lstm";
            refuse("model", "", "one that reads numbers".into(), needed)
        }
        (true, Input::Tokens { .. }) | (false, Input::Numbers(_)) => Ok(()),
    }
}

/// Widest layer: a matrix between two such layers has 2^48 parameters, far beyond any memory and short of overflow.
pub(super) const MOST_UNITS: usize = 1 << 24;
/// Most layers of a recurrent network.
pub(super) const MOST_LAYERS: usize = 256;

/// Checks the units of a layer, a setting at `path`.
pub(super) fn expect_units(units: usize, path: &str) -> Result<(), EngineError> {
    match units <= MOST_UNITS {
        true => Ok(()),
        false => refuse(
            "units of a layer",
            path,
            units.to_string(),
            "at most 16777216",
        ),
    }
}

/// Checks the setting `layers` of a recurrent network.
pub(super) fn expect_layers(layers: usize) -> Result<(), EngineError> {
    match layers <= MOST_LAYERS {
        true => Ok(()),
        false => refuse("layers", "layers", layers.to_string(), "at most 256"),
    }
}

/// Checks the setting `dropout`.
pub(super) fn expect_share(dropout: f32) -> Result<(), EngineError> {
    match (0.0..1.0).contains(&dropout) {
        true => Ok(()),
        false => refuse(
            "dropout",
            "dropout",
            dropout.to_string(),
            "at least 0 and below 1",
        ),
    }
}

/// Checks that `what`, which tells two classes apart by one output, has two to tell apart. It is asked for by the setting at `path`.
pub(super) fn expect_two_classes(
    classes: usize,
    what: &'static str,
    path: &str,
) -> Result<(), EngineError> {
    match classes {
        2 => Ok(()),
        _ => refuse(
            what,
            path,
            format!("data of {classes} classes"),
            "data of two",
        ),
    }
}

/// The error that refuses a model because of its setting at `path`.
pub(super) fn refuse(
    what: &'static str,
    path: &str,
    found: String,
    needed: &'static str,
) -> Result<(), EngineError> {
    Err(EngineError::ModelSetting {
        what,
        path: path.to_owned(),
        found,
        needed,
    })
}

/// Checks that every layer has units, and windows and groups that fit.
pub(super) fn check_nodes(nodes: &[Node], input: &Input) -> Result<(), EngineError> {
    for (index, node) in nodes.iter().enumerate() {
        let (facts, output) = (node.layer.facts(), node.output);
        if output.places() == 0 {
            return window_does_not_fit(&nodes[..=index], input);
        }
        let inputs = facts.inputs();
        if output.channels == 0 || inputs == 0 {
            let found = format!("{inputs} to {}", output.channels);
            let dense = |node: &&Node| matches!(node.layer, Layer::Dense(_));
            let path = facts.width_setting(nodes[..index].iter().filter(dense).count());
            return refuse(
                "layer widths",
                &path,
                found,
                "at least one unit in every layer",
            );
        }
        facts.check()?;
    }
    Ok(())
}

/// Refuses examples over which the window of the last of `nodes` does not fit.
fn window_does_not_fit(nodes: &[Node], input: &Input) -> Result<(), EngineError> {
    let windows = nodes.iter().map(|node| node.layer.facts().window_over());
    let windows: Vec<_> = windows.flatten().collect();
    let (what, found) = match windows.last() {
        Some((name, window, grid)) => {
            let place = windows.iter().filter(|(other, ..)| other == name).count();
            let (height, width) = window.size;
            let border = match window.padding {
                (0, 0) => String::new(),
                (above, beside) => format!(" and a border of {above} x {beside}"),
            };
            let found = format!(
                "{name} {place}, with a window of {height} x {width}{border}, reads {} x {} places",
                grid.height, grid.width
            );
            ("window of a layer", found)
        }
        None => ("grid of a layer", "no place".to_owned()),
    };
    match input {
        Input::Numbers(shape) if shape.height == 1 && shape.channels == 1 => {
            let found = format!("{found} in examples of {} features", shape.width);
            let needed = "no larger than what it reads: this model needs images, saved as [examples, height, width] or \
                          [examples, channels, height, width]";
            refuse(what, "", found, needed)
        }
        Input::Numbers(shape) => {
            let (channels, height, width) = (shape.channels, shape.height, shape.width);
            let found = format!("{found} in examples of {channels} channels of {height} x {width}");
            let needed = "no larger than what it reads: images are saved as [examples, channels, height, width], and this model needs \
                          larger ones than these";
            refuse(what, "", found, needed)
        }
        Input::Tokens { .. } => refuse(what, "", found, "no larger than what it reads"),
    }
}
