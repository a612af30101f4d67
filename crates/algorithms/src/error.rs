//! What can go wrong in a method.

use meshfold_engine::EngineError;
use meshfold_topology::TopologyError;
use thiserror::Error;

/// A failed check or round of a method.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum AlgorithmError {
    /// A key of the method's configuration has a value that cannot work.
    #[error("{key} is {found}, but {needed}")]
    Setting {
        /// The key within the method's configuration.
        key: &'static str,
        /// The value found.
        found: String,
        /// What would be right.
        needed: &'static str,
    },
    /// A key has a value that this method has no meaning for.
    #[error("{method} cannot have `{key}: {found}`: {needed}")]
    Unsuited {
        /// The method.
        method: &'static str,
        /// The key within the method's configuration.
        key: &'static str,
        /// The value found.
        found: String,
        /// What would be right.
        needed: &'static str,
    },
    /// The same of a method of a program's own, whose keys only that program knows.
    #[error("{key} is {found}, but {needed}")]
    OwnSetting {
        /// The key within the method's configuration.
        key: String,
        /// The value found.
        found: String,
        /// What would be right.
        needed: String,
    },
    /// A method of a program's own failed.
    #[error("{method} failed: {reason}")]
    Own {
        /// The method.
        method: String,
        /// What it says.
        reason: String,
    },
    /// What a method trains besides the models stopped being finite.
    #[error(
        "{what} became infinite or NaN in round {round}: see what it is made of, lower the learning rate, or set `clip_norm`"
    )]
    NonFinite {
        /// What it was.
        what: String,
        /// First round in which a loss or a parameter was not finite.
        round: usize,
    },
    /// A figure that a method records has a name that none can have.
    #[error("a figure is called `{found}`, needed 1 to 64 ASCII letters, digits or `_`")]
    FigureName {
        /// The name, or the beginning of a long one.
        found: String,
    },
    /// A figure that a method records has not one number for each row.
    #[error("the figure `{name}` has {found} numbers, needed one, or one for each of {rows} rows")]
    FigureRows {
        /// The figure.
        name: String,
        /// Its numbers.
        found: usize,
        /// Rows of the models.
        rows: usize,
    },
    /// The overlay is none that the method can use.
    #[error("{method} needs {needed}")]
    Overlay {
        /// The method.
        method: &'static str,
        /// What it needs.
        needed: String,
    },
    /// The engine refused a verb.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A mixing matrix could not be made.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl AlgorithmError {
    /// What is wrong with the value of `key`, a key of the method's configuration.
    pub fn setting(key: &'static str, found: impl ToString, needed: &'static str) -> Self {
        Self::Setting {
            key,
            found: found.to_string(),
            needed,
        }
    }
}
