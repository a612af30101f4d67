//! From which models the rows of a run start.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From which models the rows start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InitialModels {
    /// Every row from the same model.
    #[default]
    Same,
    /// Each row from a draw of its own.
    Independent,
    /// Each client's one parameter from the label of its first example: the private value `w_k(0)` of DeceFL's consensus problem
    /// (Yuan et al., (7) and SI (16)).
    Label,
    /// From trained models in a file, such as `meshfold runs models` writes.
    Models(StartFile),
}

/// A safetensors file of trained models. It has a tensor for each parameter, under its name: `[rows, inputs, outputs]` with a model for
/// each row of the run, or one row or `[inputs, outputs]`, from which all rows start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartFile {
    /// The file, from the folder of the experiment's file.
    pub file: PathBuf,
    /// SHA-256 of the file in lower-case hexadecimal, part of a resolved configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Where the file was found when the run was planned.
    #[serde(skip)]
    pub(crate) path: PathBuf,
}
