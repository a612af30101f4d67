//! Refuses models that cannot be built, before a network is made. Each error names the setting at fault.

use super::layer::{Layer, Node};
use super::loss::Loss;
use super::model::{Model, Resnet};
use crate::error::EngineError;
use meshfold_data::Input;

/// Checks what does not depend on the layers.
pub(super) fn check(model: &Model, input: &Input) -> Result<(), EngineError> {
    if let Model::Own(name) = model {
        return Err(EngineError::OwnModel {
            reason: format!("`{}` is no model of the engine's", name.name),
        });
    }
    match (model.reads_tokens(), input) {
        (true, Input::Numbers(_)) => {
            let needed = "a model that reads numbers, such as mlp";
            return refuse("model", "", "one that reads text".into(), needed);
        }
        (false, Input::Tokens { .. }) => {
            let needed = "a model that reads text: char_lstm or word_lstm";
            return refuse("model", "", "one that reads numbers".into(), needed);
        }
        (true, Input::Tokens { .. }) | (false, Input::Numbers(_)) => {}
    }
    let dropout = model.dropout();
    if !(0.0..1.0).contains(&dropout) {
        return refuse(
            "dropout",
            "dropout",
            dropout.to_string(),
            "at least 0 and below 1",
        );
    }
    if let Model::Resnet(Resnet { depth, .. }) = model
        && ![10, 18].contains(depth)
    {
        return refuse("resnet depth", "depth", depth.to_string(), "10 or 18");
    }
    Ok(())
}

/// Widest layer: a matrix between two such layers has 2^48 parameters, far beyond any memory and short of overflow.
pub(super) const MOST_UNITS: usize = 1 << 24;
/// Most layers of a recurrent network.
pub(super) const MOST_LAYERS: usize = 256;

/// Checks the sizes that a model is given, before anything is multiplied by them.
pub(super) fn check_sizes(model: &Model) -> Result<(), EngineError> {
    let units = |path: &str, found: usize| match found <= MOST_UNITS {
        true => Ok(()),
        false => refuse(
            "units of a layer",
            path,
            found.to_string(),
            "at most 16777216",
        ),
    };
    let recurrent = |embedding, hidden, layers: usize| {
        units("embedding", embedding)?;
        units("hidden", hidden)?;
        match layers <= MOST_LAYERS {
            true => Ok(()),
            false => refuse("layers", "layers", layers.to_string(), "at most 256"),
        }
    };
    match model {
        Model::Mlp(mlp) => {
            let mut layers = mlp.hidden.iter().enumerate();
            layers.try_for_each(|(index, width)| units(&format!("hidden.{index}"), *width))
        }
        Model::Resnet(resnet) => units("width", resnet.width),
        Model::CharLstm(lstm) => recurrent(lstm.embedding, lstm.hidden, lstm.layers),
        Model::WordLstm(lstm) => recurrent(lstm.embedding, lstm.hidden, lstm.layers),
        // A maximum over places of the border alone is of no number. PyTorch has the same limit.
        Model::GnLenet(lenet) if lenet.pool_padding > 1 => {
            let found = lenet.pool_padding.to_string();
            let needed = "at most 1, half the side of the 3 x 3 places under a maximum";
            refuse("pool_padding", "pool_padding", found, needed)
        }
        Model::Linear(_)
        | Model::Logistic
        | Model::BinaryLogistic
        | Model::Dnn8(_)
        | Model::GnLenet(_)
        | Model::CnnFemnist
        | Model::CnnCifar
        | Model::CnnEmnist
        | Model::Lenet
        | Model::Own(_) => Ok(()),
    }
}

/// Checks that an output which tells two classes apart has two to tell apart.
pub(super) fn check_classes(model: &Model, loss: Loss, classes: usize) -> Result<(), EngineError> {
    if loss != Loss::Sigmoid || classes == 2 {
        return Ok(());
    }
    let (what, path) = match model {
        Model::Mlp(_) => ("the sigmoid head", "head"),
        _ => ("binary_logistic", ""),
    };
    refuse(
        what,
        path,
        format!("data of {classes} classes"),
        "data of two",
    )
}

/// The error that refuses a model because of its setting at `path`.
fn refuse(
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
            let grid = facts.window_over().unwrap_or(output);
            let found = format!("{} x {}", grid.height, grid.width);
            let what = "grid of a layer";
            return match input {
                Input::Numbers(shape) if shape.height == 1 && shape.channels == 1 => {
                    let found = format!("{found} in examples of {} features", shape.width);
                    let needed = "no smaller than its window: this model needs images, saved as [examples, height, width] or \
                                  [examples, channels, height, width]";
                    refuse(what, "", found, needed)
                }
                Input::Numbers(shape) => {
                    let (channels, height, width) = (shape.channels, shape.height, shape.width);
                    let found =
                        format!("{found} in examples of {channels} channels of {height} x {width}");
                    refuse(what, "", found, "no smaller than its window")
                }
                Input::Tokens { .. } => refuse(what, "", found, "no smaller than its window"),
            };
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
