//! What an exchange over an overlay sends between ranks, if the run is dealt over several.

use meshfold_engine::Ranks;
use meshfold_topology::{Form, MixingMatrix};
use serde::Serialize;

use crate::plan::mean_exchange;
use crate::plan::run_plan::RunPlan;

/// A run over several ranks, by what it exchanges over its whole overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OverRanks {
    /// How many ranks.
    pub ranks: usize,
    /// Rows of models on the rank that has most.
    pub most_rows: usize,
    /// Links of the overlay whose ends are on different ranks; of a mean over all, none.
    pub cut_edges: usize,
    /// Bytes that all ranks send each other in one exchange of models over the overlay: each row once to each rank that listens
    /// to it, or the parts of a mean.
    pub bytes_per_exchange: u64,
}

impl RunPlan {
    /// The run over `ranks` ranks; none if its method exchanges over no overlay.
    pub fn over_ranks(&self, ranks: usize) -> Option<OverRanks> {
        let matrix = &self.overlay.as_ref()?.matrix;
        let row = 4 * self.model.layout().width() as u64;
        Some(OverRanks {
            ranks,
            most_rows: Ranks::rows_of(0, ranks, self.rows.count).len(),
            cut_edges: cut(matrix, ranks).0,
            bytes_per_exchange: match matrix.form() {
                Form::Sparse { .. } => cut(matrix, ranks).1 as u64 * row,
                Form::Average(weights) | Form::Among { weights, .. } => {
                    let width = self.model.layout().width();
                    mean_exchange::bytes(
                        weights,
                        |row| owner(row, ranks, weights.len()),
                        ranks,
                        width,
                    )
                }
            },
        })
    }
}

/// The rank of `ranks` that has `row` of `rows` rows.
fn owner(row: usize, ranks: usize, rows: usize) -> usize {
    let has = |rank: &usize| Ranks::rows_of(*rank, ranks, rows).contains(&row);
    (0..ranks).find(has).expect("a rank has each row")
}

/// Edges between ranks, and rows that go from one to another, of a sparse matrix whose rows lie in blocks.
fn cut(matrix: &MixingMatrix, ranks: usize) -> (usize, usize) {
    let Form::Sparse {
        row_ptr, columns, ..
    } = matrix.form()
    else {
        return (0, 0);
    };
    let (mut entries, mut rows) = (0, 0);
    for rank in 0..ranks {
        let own = Ranks::rows_of(rank, ranks, matrix.rows());
        let read = &columns[row_ptr[own.start]..row_ptr[own.end]];
        let is_foreign = |column: &&u32| !own.contains(&(**column as usize));
        let mut foreign: Vec<u32> = read.iter().filter(is_foreign).copied().collect();
        entries += foreign.len();
        foreign.sort_unstable();
        foreign.dedup();
        rows += foreign.len();
    }
    (entries / 2, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::ExperimentSource;
    use meshfold_data::DataFolder;

    fn over(topology: &str, ranks: usize) -> OverRanks {
        let text = format!(
            "name: cut\ndataset: {{glyphs: {{train: 240, test: 20}}}}\npartition: {{iid: {{clients: 12}}}}\n\
             topology: {topology}\nmodel: logistic\n\
             algorithm: {{dsgd: {{batch_size: 5, learning_rate: 0.1}}}}\nrounds: 1\n"
        );
        let source = ExperimentSource::new("cut.yaml", text);
        let plans = crate::plan::plan(&source, &DataFolder::new("unused")).unwrap();
        plans[0].over_ranks(ranks).unwrap()
    }

    /// A logistic model of 784 inputs and 10 outputs, padded.
    const ROW: u64 = 4 * (7872 + 64);

    #[test]
    fn a_ring_is_cut_once_between_neighbours() {
        let found = over("ring", 3);
        assert_eq!((found.most_rows, found.cut_edges), (4, 3));
        assert_eq!(found.bytes_per_exchange, 6 * ROW);
        assert_eq!(over("ring", 1).bytes_per_exchange, 0);
    }

    #[test]
    fn a_mean_over_all_is_sent_in_parts() {
        let found = over("complete", 4);
        assert_eq!(found.cut_edges, 0);
        let parts = 3 * ROW / 4;
        assert_eq!(found.bytes_per_exchange, 12 * parts + 4 * parts);
    }
}
