//! Labels and owners that one rank of each machine reads for all ranks there, so that a file is read once by a machine.

use meshfold_data::{DataError, DataFolder, DatasetConfig, DatasetSummary};
use meshfold_engine::Ranks;
use sha2::{Digest, Sha256};

use crate::plan::planned_data::json;

/// What the rank that reads tells before the summary, and before the reason why there is none.
const READ: &[u8] = b"read";
const FAILED: &[u8] = b"failed";

/// The first word of ranks that ask for a summary; those that are done with planning have another one.
const ASKED: u64 = 2;

/// The summary of `dataset`, whose files are in `folder`. Over `ranks`, all of them call it; the first one of each machine reads.
///
/// # Errors
/// That of reading; [`DataError::Elsewhere`] on ranks that did not read; [`DataError::OtherDataset`] if ranks ask for different
/// datasets.
pub(super) fn summary(
    dataset: &DatasetConfig,
    folder: &DataFolder,
    ranks: Option<&Ranks>,
) -> Result<DatasetSummary, DataError> {
    let Some(ranks) = ranks else {
        return dataset.summary(folder);
    };
    let digest = Sha256::digest(json(dataset));
    let word = digest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    ranks
        .expect_same_words([ASKED, word.expect("a digest has 32 bytes")])
        .map_err(|rank| DataError::OtherDataset { rank })?;
    if !ranks.reads() {
        return heard(ranks);
    }
    let summary = dataset.summary(folder);
    match &summary {
        Ok(summary) => {
            ranks.tell(READ);
            summary.to_pieces(|piece| ranks.tell(piece));
        }
        Err(error) => {
            ranks.tell(FAILED);
            ranks.tell(error.to_string().as_bytes());
        }
    }
    summary
}

/// What the rank that reads for this machine tells.
fn heard(ranks: &Ranks) -> Result<DatasetSummary, DataError> {
    match ranks.hear() == READ {
        true => Ok(DatasetSummary::from_pieces(|| ranks.hear())),
        false => Err(DataError::Elsewhere {
            reason: String::from_utf8_lossy(&ranks.hear()).into_owned(),
        }),
    }
}
