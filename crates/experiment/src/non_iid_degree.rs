//! Γ of a run's clients and model.

use meshfold_data::Examples;
use meshfold_engine::{Model, Targets};
use meshfold_theory::{Features, Labelled, NonIidDegree, Shares, linear_degree, logistic_degree};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::plan::run_plan::RunPlan;

/// Γ of the run's clients; `None` of a model whose least losses nobody can tell, and once `stop` is true.
///
/// # Complexity
/// Of a linear model as [`linear_degree`], of a logistic one as [`logistic_degree`].
pub(crate) fn non_iid_degree(
    plan: &RunPlan,
    train: &Examples,
    stop: &AtomicBool,
) -> Option<NonIidDegree> {
    let setting = &plan.population.setting;
    let groups = plan.config.algorithm.overlay_groups(setting);
    let groups = groups.unwrap_or_else(|| vec![(0..setting.clients as u32).collect()]);
    let shares = Shares::new(&groups, |client| plan.partition.shard(client as usize));
    let features = Rows(train);
    let found = match &plan.config.model {
        Model::Linear(linear) => {
            let targets = |example| targets(linear.targets, train, example);
            linear_degree(&shares, &features, targets, linear.bias)
        }
        Model::Logistic => {
            let train = Labelled {
                features: &features,
                labels: train.labels(),
                classes: train.classes(),
            };
            let decay = plan.config.algorithm.training().sgd.weight_decay;
            logistic_degree(&shares, &train, decay.into(), stop)
        }
        _ => return None,
    };
    // A search that was called off may have ended anywhere.
    (!stop.load(Ordering::Relaxed)).then_some(found)
}

/// What the outputs of a linear model are compared with for one example.
fn targets(of: Targets, train: &Examples, example: usize) -> Vec<f64> {
    let label = train.labels()[example];
    match of {
        Targets::Value => vec![f64::from(label)],
        Targets::OneHot => (0..train.classes())
            .map(|class| f64::from(u8::from(class == usize::from(label))))
            .collect(),
    }
}

/// The features of a dataset in double precision.
struct Rows<'a>(&'a Examples);

impl Features for Rows<'_> {
    fn width(&self) -> usize {
        self.0.width()
    }

    fn read(&self, index: usize, to: &mut [f64]) {
        for (to, feature) in to.iter_mut().zip(self.0.row(index)) {
            *to = f64::from(feature);
        }
    }
}
