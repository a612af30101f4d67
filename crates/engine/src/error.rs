//! What can go wrong between a stack and its device.

use crate::network::precision::Precision;
use thiserror::Error;

/// A failed engine operation.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The mixing matrix does not fit the stack.
    #[error(
        "mix: the matrix is {matrix_rows} x {matrix_columns} but the stack holds {rows} models"
    )]
    MixShape {
        /// Rows of the matrix.
        matrix_rows: usize,
        /// Columns of the matrix.
        matrix_columns: usize,
        /// Rows of the stack.
        rows: usize,
    },
    /// Two stacks that a verb combines have different rows or layouts.
    #[error(
        "{verb}: one stack is [{left_rows}, {left_width}], the other [{right_rows}, {right_width}]"
    )]
    StackShape {
        /// The verb that was asked for.
        verb: &'static str,
        /// Rows of the first stack.
        left_rows: usize,
        /// Parameters per row of the first stack, without padding.
        left_width: usize,
        /// Rows of the second stack.
        right_rows: usize,
        /// Parameters per row of the second stack, without padding.
        right_width: usize,
    },
    /// A verb was given stacks of which one is on a processor and the other on a GPU.
    #[error("{verb}: one stack is on a processor and the other on a GPU")]
    OtherDevice {
        /// The verb that was asked for.
        verb: &'static str,
    },
    /// A per-row argument has the wrong length.
    #[error("{verb}: {found} values for {rows} rows")]
    RowCount {
        /// The verb that was asked for.
        verb: &'static str,
        /// Values given.
        found: usize,
        /// Rows of the stack.
        rows: usize,
    },
    /// A row index outside the stack.
    #[error("{verb}: row {row} is out of range: the stack holds {rows} rows, counted from 0")]
    RowIndex {
        /// The verb that was asked for.
        verb: &'static str,
        /// The offending row.
        row: usize,
        /// Rows of the stack.
        rows: usize,
    },
    /// A row that is overwritten twice.
    #[error("{verb}: row {row} is named twice")]
    RowRepeated {
        /// The verb that was asked for.
        verb: &'static str,
        /// The row.
        row: usize,
    },
    /// A list of rows is too short for what is asked of it.
    #[error("{verb}: row {target} is made of {rows} rows, {}", too_few(*left_out))]
    TooFewRows {
        /// The verb that was asked for.
        verb: &'static str,
        /// The new row.
        target: usize,
        /// The rows that it is made of.
        rows: usize,
        /// How many of the smallest numbers, and of the largest, are left out.
        left_out: usize,
    },
    /// A row was given a client that does not exist or holds no examples.
    #[error("train: row {row} works for client {client}, which {reason}")]
    Client {
        /// Row of the stack.
        row: usize,
        /// Client asked for.
        client: usize,
        /// Why it cannot train.
        reason: &'static str,
    },
    /// Products of that precision are not to be had here.
    #[error("precision {precision}: {reason}; {remedy}")]
    Precision {
        /// The precision asked for.
        precision: Precision,
        /// Why there are none.
        reason: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A setting that the engine cannot work with.
    #[error("{what}: {found}, but it must be {needed}")]
    Setting {
        /// Name of the setting.
        what: &'static str,
        /// The value found.
        found: String,
        /// The values that would do.
        needed: &'static str,
    },
    /// A model that cannot be, or does not fit its examples.
    #[error("{what}: {found}, but it must be {needed}")]
    ModelSetting {
        /// What is wrong, in words.
        what: &'static str,
        /// The dotted path of the setting below the model, such as `depth` or `hidden.1`; empty if it is none of one.
        path: String,
        /// The value found.
        found: String,
        /// The values that would do.
        needed: &'static str,
    },
    /// A model of the user's own does not do what it must.
    #[error("own model: {reason}")]
    OwnModel {
        /// What is wrong with it.
        reason: String,
    },
    /// A learning rate of the user's own is none.
    #[error("the learning rate {name}: {reason}")]
    OwnRate {
        /// The name in the configuration.
        name: String,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// A device was asked for that this binary cannot drive.
    #[error("device {device}: {reason}")]
    Device {
        /// The device as it was asked for.
        device: String,
        /// Why it cannot be used and what to do.
        reason: String,
    },
    /// Another rank of the run cannot do its part.
    #[error("rank {rank}: {reason}")]
    OfRank {
        /// The first rank that cannot.
        rank: usize,
        /// Why. Rank 0 alone is told.
        reason: String,
    },
    /// A GPU went away while it worked, or its driver gave it up.
    #[error(
        "device {device} was lost ({reason}): run the command again, which skips finished runs and goes on from checkpoints; \
         if it is lost again, look into the system's log, or use `--device cpu`"
    )]
    DeviceLost {
        /// The kind of the device.
        device: String,
        /// What its driver says, and why it cannot be opened again if that was tried.
        reason: String,
    },
    /// The driver of a GPU has no memory left.
    #[error(
        "device {device} has no memory left for the models and what their training takes: use fewer clients, a smaller \
         model, smaller batches, fewer runs at once (`--at-once 1`), or `--device cpu`"
    )]
    OutOfDeviceMemory {
        /// The kind of the device.
        device: String,
    },
    /// A model stopped being finite.
    #[error("the model of row {row} {}", non_finite(*round))]
    NonFinite {
        /// First round in which the loss or the model was not finite; 0 before it was trained.
        round: usize,
        /// Lowest row that was so in that round.
        row: usize,
    },
}

/// How many rows a list needs of which numbers are left out at both ends.
fn too_few(left_out: usize) -> String {
    match left_out {
        0 => "needed at least one".to_owned(),
        _ => format!(
            "of which {left_out} are left out at each end, needed at least {}",
            2 * left_out + 1
        ),
    }
}

/// What became of a model in `round`, and what to do.
fn non_finite(round: usize) -> String {
    match round {
        0 => "has a loss that is infinite or NaN before it is trained: what it starts from, what it computes, or the data cannot be right"
            .to_owned(),
        _ => format!("became infinite or NaN in round {round}: lower the learning rate, or set `clip_norm`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_learning_rate_is_blamed_before_the_first_round() {
        let told = |round| EngineError::NonFinite { round, row: 3 }.to_string();
        assert!(told(7).starts_with("the model of row 3 became infinite or NaN in round 7: lower"));
        assert!(!told(0).contains("learning rate"), "{}", told(0));
    }
}
