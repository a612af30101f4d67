//! Ranks send each other as many bytes as the plan says for the edges that are cut.

use meshfold_engine::Sent;
use meshfold_experiment::{ExperimentSource, RunPlan};

use crate::{over_ranks, placed, planned};

#[test]
fn an_exchange_over_any_overlay_sends_the_bytes_that_the_plan_counts() {
    let text = "
name: cut
dataset: {glyphs: {train: 300, test: 40}}
partition: {shards: {clients: 14}}
topology: ring
model: logistic
algorithm: {dfedavgm: {batch_size: 7, learning_rate: 0.1}}
rounds: 2
evaluate: {every: 100}
sweep:
  grid:
    topology: [ring, path, star, complete, exponential, {regular: {degree: 3}}, {erdos_renyi: {p: 0.3}}, {d_cliques: {max_clique_size: 4}}]
    rounds: [2, 5]
";
    let (plans, folder) = planned(&ExperimentSource::new("cut.yaml", text));
    let data = plans[0].config.dataset.load(&folder).unwrap();
    let all_sent = |plan: &RunPlan, count| {
        let results = tempfile::tempdir().unwrap();
        let (plans, data) = ([placed(plan, count)], [data.clone()]);
        let (_, sent) = over_ranks(count, &plans, &data, results.path(), None);
        let sum = |of: fn(&Sent) -> u64| sent.iter().map(of).sum::<u64>();
        (sum(|sent| sent.messages), sum(|sent| sent.bytes))
    };
    for count in [2, 3, 5] {
        for short in plans.iter().filter(|plan| plan.config.rounds == 2) {
            let topology = &short.config.topology;
            let is_longer =
                |plan: &&RunPlan| plan.config.rounds == 5 && plan.config.topology == *topology;
            let long = plans.iter().find(is_longer).unwrap();
            let (before, after) = (all_sent(short, count), all_sent(long, count));
            let planned = serde_json::to_value(short.over_ranks(count)).unwrap();
            let expected = planned["bytes_per_exchange"].as_u64().unwrap();
            let run = format!("{topology:?} over {count} ranks");
            assert_eq!(after.1 - before.1, 3 * expected, "{run}");
            // A rank has at most one message for each other one: of rows, or of parts and then of their mean.
            let most = 3 * 2 * count * (count - 1);
            assert!(after.0 - before.0 <= most as u64, "{run}");
        }
    }
}
