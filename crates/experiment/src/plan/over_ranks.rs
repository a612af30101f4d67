//! What a run would be like over several ranks: where its rows lie, what goes between ranks, and the memory that one needs.

use meshfold_data::Partition;
use meshfold_engine::Device;
use meshfold_topology::{Form, MixingMatrix};
use serde::Serialize;

use crate::plan::mean_exchange;
use crate::plan::memory::RankShare;
use crate::plan::placement::Placement;
use crate::plan::planned_data::dealt_sizes;
use crate::plan::planned_overlay::PlannedOverlay;
use crate::plan::run_plan::RunPlan;
use crate::plan::working_memory::WorkingMemory;

/// A run over several ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OverRanks {
    /// How many ranks.
    pub ranks: usize,
    /// Rows of models on the rank that has most.
    pub most_rows: usize,
    /// Rows of models on the rank that has fewest.
    pub least_rows: usize,
    /// Links of the overlay whose ends are on different ranks, those of all rounds if it changes; `None` without an overlay, and
    /// where an exchange is a mean over all.
    pub cut_edges: Option<usize>,
    /// The same if rows lay in blocks.
    pub cut_edges_in_blocks: Option<usize>,
    /// Bytes that all ranks send each other in one exchange of models over the overlay, the first one if it changes: each row
    /// once to each rank that listens to it, or the parts of a mean. `None` without an overlay.
    pub bytes_per_exchange: Option<u64>,
    /// Estimate of the most memory that a rank holds at once, in bytes.
    pub memory_bytes: u64,
}

impl RunPlan {
    /// Where its rows lie over `ranks` ranks.
    pub fn placement_over(&self, ranks: usize) -> Placement {
        let overlay = self.overlay.as_deref();
        Placement::new(&self.config, &self.population, overlay, ranks)
    }

    /// The run over `ranks` ranks, each the processor with all its cores.
    pub fn over_ranks(&self, ranks: usize) -> OverRanks {
        self.over_ranks_on(None, ranks)
    }

    /// The run over `ranks` ranks on devices like `device`, the processor with all its cores if absent.
    pub fn over_ranks_on(&self, device: Option<&Device>, ranks: usize) -> OverRanks {
        let overlay = self.overlay.as_deref();
        let placement = self.placement_over(ranks);
        let rows = placement.counts(self.rows.count);
        let row = 4 * self.model.layout().width() as u64;
        let (_, tests) = dealt_sizes(&self.dataset, &self.partition);
        let examples = (&*self.dataset, tests);
        let (config, partition) = (&self.config, &*self.partition);
        let working = WorkingMemory::of(device, config, &self.model, partition, examples);
        let on_gpu = working.on_gpu();
        let shares = RankShare::of_all(&placement, self.rows.count, partition, overlay, on_gpu);
        let of_a_rank = |share: &RankShare, stored: usize| working.of_a_rank(share, stored);
        OverRanks {
            ranks,
            most_rows: rows.iter().copied().max().unwrap_or(0),
            least_rows: rows.iter().copied().min().unwrap_or(0),
            cut_edges: placement.cut.map(|[cut, _]| cut),
            cut_edges_in_blocks: placement.cut.map(|[_, in_blocks]| in_blocks),
            bytes_per_exchange: overlay
                .map(|planned| bytes_per_exchange(&placement, &planned.matrix, row)),
            memory_bytes: self.footprint.of_ranks(&shares, &of_a_rank),
        }
    }
}

/// Bytes between ranks when rows of `row` bytes are mixed by `matrix`.
fn bytes_per_exchange(placement: &Placement, matrix: &MixingMatrix, row: u64) -> u64 {
    match matrix.form() {
        Form::Sparse { .. } => placement.rows_sent(matrix).unwrap_or(0) as u64 * row,
        Form::Average(weights) | Form::Among { weights, .. } => {
            let owners = placement.of(weights.len());
            let width = (row / 4) as usize;
            mean_exchange::bytes(weights, |row| owners[row] as usize, placement.ranks, width)
        }
    }
}

impl RankShare {
    /// What each rank holds of a run of `rows` rows, which are on GPUs or not.
    pub(crate) fn of_all(
        placement: &Placement,
        rows: usize,
        partition: &Partition,
        overlay: Option<&PlannedOverlay>,
        on_gpu: bool,
    ) -> Vec<Self> {
        let sent = overlay.and_then(|planned| placement.rows_sent(&planned.matrix));
        let sent = sent.unwrap_or(0).div_ceil(placement.ranks);
        let sizes = partition.sizes();
        let mut examples = vec![0; placement.ranks];
        for (rank, size) in placement.of(sizes.len()).iter().zip(&sizes) {
            examples[*rank as usize] += size;
        }
        let all = examples.iter().sum();
        let own = placement.counts(rows).into_iter().zip(examples);
        own.map(|(own, examples)| {
            Self::new(placement.ranks, rows, own, sent)
                .with_rows_on_gpu(on_gpu)
                .with_examples(examples, all)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::source::ExperimentSource;
    use meshfold_data::DataFolder;

    fn planned(topology: &str) -> RunPlan {
        planned_with("logistic", topology)
    }

    fn planned_with(model: &str, topology: &str) -> RunPlan {
        let text = format!(
            "name: cut\ndataset: {{glyphs: {{train: 240, test: 20}}}}\npartition: {{iid: {{clients: 12}}}}\n\
             topology: {topology}\nmodel: {model}\n\
             algorithm: {{dsgd: {{batch_size: 5, learning_rate: 0.1}}}}\nrounds: 12\n"
        );
        let folder = tempfile::tempdir().unwrap();
        for (name, edges) in [("ring", &ANOTHER_ORDER[..]), ("two", &TWO), ("four", &FOUR)] {
            let lines: Vec<String> = edges.iter().map(|(a, b)| format!("{a} {b}\n")).collect();
            std::fs::write(folder.path().join(name), lines.concat()).unwrap();
        }
        let source = ExperimentSource::new(folder.path().join("cut.yaml"), text);
        let mut plans = crate::plan::plan(&source, &DataFolder::new("unused")).unwrap();
        plans.remove(0)
    }

    /// A ring of twelve clients in another order.
    const ANOTHER_ORDER: [(u32, u32); 12] = {
        let list = [0, 7, 3, 10, 1, 5, 11, 2, 8, 4, 9, 6];
        let mut edges = [(0, 0); 12];
        let mut at = 0;
        while at < 12 {
            edges[at] = (list[at], list[(at + 1) % 12]);
            at += 1;
        }
        edges
    };

    /// Links of clients that are two, and four apart: even and odd ones never meet.
    const TWO: [(u32, u32); 12] = apart(2);
    const FOUR: [(u32, u32); 12] = apart(4);

    const fn apart(by: u32) -> [(u32, u32); 12] {
        let mut edges = [(0, 0); 12];
        let mut at = 0;
        while at < 12 {
            edges[at as usize] = (at, (at + by) % 12);
            at += 1;
        }
        edges
    }

    fn over(topology: &str, ranks: usize) -> OverRanks {
        planned(topology).over_ranks(ranks)
    }

    /// A logistic model of 784 inputs and 10 outputs, padded.
    const ROW: u64 = 4 * (7872 + 64);

    #[test]
    fn a_ring_is_cut_once_between_neighbours() {
        let found = over("ring", 3);
        assert_eq!((found.most_rows, found.least_rows), (4, 4));
        assert_eq!(found.cut_edges, Some(3));
        assert_eq!(found.bytes_per_exchange, Some(6 * ROW));
        assert_eq!(over("ring", 1).bytes_per_exchange, Some(0));
    }

    #[test]
    fn a_shuffled_ring_is_cut_where_one_in_order_is() {
        let found = over("{edges: {file: ring}}", 3);
        assert_eq!(found.cut_edges, Some(3));
        assert!(found.cut_edges_in_blocks > Some(6));
        assert_eq!(
            (found.most_rows, found.bytes_per_exchange),
            (4, Some(6 * ROW))
        );
    }

    #[test]
    fn edges_of_all_rounds_are_cut() {
        let found = over(
            "{periodic: [{edges: {file: two}}, {edges: {file: four}}]}",
            2,
        );
        assert_eq!(found.cut_edges, Some(0));
        assert!(found.cut_edges_in_blocks > Some(0));
        assert_eq!(found.bytes_per_exchange, Some(0));
    }

    #[test]
    fn a_mean_over_all_is_sent_in_parts() {
        let found = over("complete", 4);
        assert_eq!((found.cut_edges, found.most_rows), (None, 3));
        let parts = 3 * ROW / 4;
        assert_eq!(found.bytes_per_exchange, Some(12 * parts + 4 * parts));
    }

    #[test]
    fn clients_are_where_their_server_is() {
        let text = "
name: servers
dataset: {glyphs: {train: 240, test: 20}}
partition: {iid: {clients: 12}}
topology: path
model: logistic
algorithm: {p_fedavg: {servers: {count: 4, assign: {list: [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]}}, batch_size: 5, learning_rate: 0.1}}
rounds: 1
";
        let source = ExperimentSource::new("servers.yaml", text);
        let plans = crate::plan::plan(&source, &DataFolder::new("unused")).unwrap();
        let placement = plans[0].placement_over(2);
        let servers = placement.of(4);
        assert_eq!(
            placement.of(12),
            [servers.clone(), servers.clone(), servers].concat()
        );
        assert_eq!(plans[0].over_ranks(2).most_rows, 2);
    }

    #[test]
    fn more_ranks_need_less_memory_each() {
        let plan = planned_with("{mlp: {hidden: [2000]}}", "ring");
        assert_eq!(plan.over_ranks(1).memory_bytes, plan.memory_bytes);
        assert!(plan.over_ranks(4).memory_bytes < plan.over_ranks(2).memory_bytes);
    }
}
