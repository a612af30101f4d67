//! Two models of one's own in a small decentralised run: eight clients on a ring learn ten digits by D-SGD.
//!
//! `Glu` is written for all rows at once; `Convolution` is an ordinary burn module, run row by row.
//! It prints the accuracy round by round, and writes to `runs/`. Within this workspace,
//! `cargo test --release --workspace --test own_model -- --nocapture` runs it.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use meshfold_data::{DataFolder, Input};
use meshfold_engine::burn;
use meshfold_engine::burn::module::Module;
use meshfold_engine::burn::nn::conv::{Conv2d, Conv2dConfig};
use meshfold_engine::burn::nn::{Linear, LinearConfig, PaddingConfig2d};
use meshfold_engine::burn::tensor::{Device, Tensor, activation};
use meshfold_engine::{
    Device as Where, EngineError, Initial, OwnModel, OwnModels, Parameter, Parameters, RowByRow,
};
use meshfold_experiment::{
    ExperimentSource, Observer, Own, Record, RunOptions, RunPlan, plan, run,
};

const EXPERIMENT: &str = "
name: own-model
dataset: {glyphs: {train: 800, test: 200}}
partition: {dirichlet: {clients: 8, alpha: 1.0}}
topology: ring
model: {own: glu}
algorithm: {dsgd: {local: {steps: 5}, batch_size: 10, learning_rate: 0.2}}
rounds: 12
evaluate: {every: 3}
sweep: {grid: {model.own: [glu, convolution]}}
";

/// A hidden layer of gated linear units (Dauphin et al., 2017): `(x A + a) ⊙ σ(x B + b)`.
#[derive(Debug)]
struct Glu {
    hidden: usize,
}

impl OwnModel for Glu {
    fn parameters(&self, input: Input, classes: usize) -> Result<Vec<Parameter>, EngineError> {
        let (inputs, hidden) = (input.features(), self.hidden);
        let (below, above) = (Initial::of_inputs(inputs), Initial::of_inputs(hidden));
        // A bias is a row of its own, so that it is added to every example.
        Ok(vec![
            Parameter::new("value.weight", [inputs, hidden], below),
            Parameter::new("value.bias", [1, hidden], below),
            Parameter::new("gate.weight", [inputs, hidden], below),
            Parameter::new("gate.bias", [1, hidden], below),
            Parameter::new("output.weight", [hidden, classes], above),
            Parameter::new("output.bias", [1, classes], above),
        ])
    }

    /// `x` is `[R, B, D]`, every parameter has the rows before its own dimensions, and `matmul` keeps the rows apart.
    fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
        let dense = |x: Tensor<3>, layer: &str| -> Result<Tensor<3>, EngineError> {
            let weight = parameters.get(&format!("{layer}.weight"))?;
            Ok(x.matmul(weight) + parameters.get(&format!("{layer}.bias"))?)
        };
        let gate = activation::sigmoid(dense(x.clone(), "gate")?);
        dense(dense(x, "value")? * gate, "output")
    }
}

/// A convolution and a dense layer, as any user of burn writes them.
#[derive(Module, Debug)]
struct Convolution {
    convolution: Conv2d,
    output: Linear,
}

impl Convolution {
    /// For images of 28 x 28 in ten classes.
    fn new(device: &Device) -> Self {
        let convolution = Conv2dConfig::new([1, 8], [4, 4])
            .with_stride([4, 4])
            .with_padding(PaddingConfig2d::Valid);
        Self {
            convolution: convolution.init(device),
            output: LinearConfig::new(8 * 7 * 7, 10).init(device),
        }
    }

    /// Outputs `[B, 10]` of images `[B, 784]`.
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let [batch, _] = x.dims();
        let x = self.convolution.forward(x.reshape([batch, 1, 28, 28]));
        self.output.forward(activation::relu(x).flatten(1, 3))
    }
}

/// Prints the rounds of a run as they are judged, and keeps the last.
#[derive(Default)]
struct Printer {
    last: f64,
}

impl Observer for Printer {
    fn started(&mut self, plan: &RunPlan) {
        println!("{}: {} parameters", plan.label(), plan.parameters);
    }

    fn record(&mut self, record: &Record) {
        self.last = record.test_accuracy.mean;
        println!(
            "  round {:2}: accuracy {:.3}, consensus distance {:.4}",
            record.round, self.last, record.consensus_distance
        );
    }
}

/// Runs the experiment, writing to `results`, and returns the name and the mean accuracy in the end of every run.
pub fn learn(results: &Path) -> Result<Vec<(String, f64)>, Box<dyn Error>> {
    let module = Convolution::new(&Device::flex());
    let models = OwnModels::new()
        .with("glu", Glu { hidden: 32 })
        .with("convolution", RowByRow::new(module, Convolution::forward)?);

    let data = DataFolder::new("unused");
    let source = ExperimentSource::new("own_model.yaml", EXPERIMENT);
    let source = source.with_own(Own::new().models(models));
    let options = RunOptions {
        device: Where::cpu()?,
        results: results.to_owned(),
        again: true,
        commit: None,
    };
    let mut accuracies = Vec::new();
    for plan in plan(&source, &data)? {
        let examples = plan.config.dataset.load(&data)?;
        let mut printer = Printer::default();
        let never = AtomicBool::new(false);
        run(&plan, &examples, &options, &never, &mut printer)?;
        accuracies.push((plan.label(), printer.last));
    }
    Ok(accuracies)
}

fn main() -> Result<(), Box<dyn Error>> {
    learn(Path::new("runs"))?;
    Ok(())
}
