//! Γ of a run's clients and model, and all else that the theorems ask of a logistic model's losses.

use meshfold_algorithms::{Method, Weighting};
use meshfold_data::Examples;
use meshfold_engine::{Model, Targets};
use meshfold_theory::{
    Features, Labelled, LogisticProblem, NonIidDegree, Shares, linear_degree, logistic_degree,
};
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
    let shares = shares(plan, &groups(plan));
    let features = Rows(train);
    let found = match &plan.config.model {
        Model::Linear(linear) => {
            let targets = |example| targets(linear.targets, train, example);
            linear_degree(&shares, &features, targets, linear.bias)
        }
        Model::Logistic => {
            let train = labelled(&features, train);
            let decay = plan.config.algorithm.training().sgd.weight_decay;
            logistic_degree(&shares, &train, decay.into(), stop)
        }
        _ => return None,
    };
    // A search that was called off may have ended anywhere.
    (!stop.load(Ordering::Relaxed)).then_some(found)
}

/// The losses of the run's logistic model, whose rows start with the models `first`, each `[C, d + 1]` row-major with the biases
/// last; `None` once `stop` is true.
///
/// # Complexity
/// That of [`LogisticProblem::new`].
pub(crate) fn logistic_problem(
    plan: &RunPlan,
    train: &Examples,
    first: &[Vec<f64>],
    stop: &AtomicBool,
) -> Option<LogisticProblem> {
    let groups = groups(plan);
    let clients = groups.iter().map(Vec::len).sum();
    // A row is a client's, or that of the server that a client begins with. Walkers begin anywhere.
    let rows: Vec<usize> = match first.len() {
        rows if rows == groups.len() => (0..)
            .zip(&groups)
            .flat_map(|(row, group)| vec![row; group.len()])
            .collect(),
        rows if rows == clients => (0..rows).collect(),
        _ => vec![0; clients],
    };
    let decay = plan.config.algorithm.training().sgd.weight_decay;
    let found = LogisticProblem::new(
        &shares(plan, &groups),
        &labelled(&Rows(train), train),
        decimal(decay),
        |client| first[rows[client]].as_slice(),
        stop,
    );
    (!stop.load(Ordering::Relaxed)).then_some(found)
}

/// The number that a configuration has for `value`.
fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// The clients of every server; all together if there is none.
pub(crate) fn groups(plan: &RunPlan) -> Vec<Vec<u32>> {
    let setting = &plan.population.setting;
    let groups = plan.config.algorithm.overlay_groups(setting);
    groups.unwrap_or_else(|| vec![(0..setting.clients as u32).collect()])
}

fn shares<'a>(plan: &'a RunPlan, groups: &[Vec<u32>]) -> Shares<'a> {
    let shard = |client| plan.partition.shard(client as usize);
    match &plan.config.algorithm {
        Method::PFedavg(method) if method.weighting == Weighting::Examples => {
            Shares::by_examples(groups, shard)
        }
        _ => Shares::new(groups, shard),
    }
}

fn labelled<'a>(features: &'a Rows<'a>, train: &'a Examples) -> Labelled<'a, Rows<'a>> {
    Labelled {
        features,
        labels: train.labels(),
        classes: train.classes(),
    }
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
#[derive(Clone, Copy)]
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
