//! The workloads.

use clap::ValueEnum;
use meshfold_engine::{CharLstm, GnLenet, Mlp, Model, NormPlace, Precision, Resnet};

/// A workload by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// Logistic regression of a thousand clients, mixing after each step.
    W1,
    /// A dense network of a hundred clients with 30 local steps and momentum.
    W2,
    /// A deeper network of 200 clients with 5 local steps.
    W3,
    /// LeNet with group normalisation on colour images of a hundred clients, mixing after each step.
    W4,
    /// A recurrent network of a hundred clients on windows of 80 characters, mixing after each step.
    W5,
    /// Mixing alone.
    W6,
    /// Copying the models of W6: what memory allows.
    Copy,
    /// A residual network of 18 layers on colour images of ten clients, mixing after each step.
    Resnet18,
    /// A thousand logistic models judged on 10,000 images.
    Eval1,
    /// A hundred dense networks judged on 10,000 images.
    Eval2,
}

/// Shapes and settings of a workload.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) model: Model,
    pub(crate) precision: Precision,
    pub(crate) clients: usize,
    pub(crate) batch: u32,
    pub(crate) steps: u32,
    pub(crate) degree: usize,
    pub(crate) rate: f64,
    pub(crate) momentum: f32,
    /// Whether the velocity lasts from round to round.
    pub(crate) keeps_velocity: bool,
    pub(crate) rounds: usize,
    /// Examples of each client.
    pub(crate) samples: usize,
    /// Width of the dark margin of grey images, in pixels.
    pub(crate) margin: usize,
    /// Row length of the mixing workload.
    pub(crate) parameters: usize,
}

impl Case {
    pub(crate) fn of(name: Name) -> Self {
        let mlp = |hidden: &[usize]| {
            Model::Mlp(Mlp {
                hidden: hidden.to_vec(),
                dropout: 0.0,
                ..Mlp::default()
            })
        };
        let w1 = Self {
            name: "w1",
            model: Model::Logistic,
            precision: Precision::F32,
            clients: 1000,
            batch: 13,
            steps: 1,
            degree: 10,
            rate: 0.1,
            momentum: 0.0,
            keeps_velocity: false,
            rounds: 20,
            samples: 50,
            margin: 0,
            parameters: 159_010,
        };
        match name {
            Name::W1 => w1,
            Name::Eval1 => Self {
                name: "eval1",
                ..w1
            },
            Name::W2 | Name::Eval2 => Self {
                name: if name == Name::W2 { "w2" } else { "eval2" },
                model: mlp(&[200]),
                clients: 100,
                batch: 20,
                steps: 30,
                degree: 3,
                rate: 0.01,
                momentum: 0.9,
                rounds: 1,
                samples: 600,
                ..w1
            },
            Name::W3 => Self {
                name: "w3",
                model: mlp(&[200, 200]),
                clients: 200,
                batch: 50,
                steps: 5,
                degree: 5,
                rate: 0.2,
                rounds: 2,
                samples: 300,
                ..w1
            },
            Name::W4 => Self {
                name: "w4",
                model: Model::GnLenet(GnLenet {
                    pool_padding: 1,
                    norm: NormPlace::BeforeRelu,
                }),
                clients: 100,
                batch: 20,
                rate: 0.01,
                momentum: 0.9,
                keeps_velocity: true,
                rounds: 2,
                samples: 400,
                ..w1
            },
            Name::W5 => Self {
                name: "w5",
                model: Model::CharLstm(CharLstm::default()),
                clients: 100,
                batch: 10,
                degree: 3,
                rate: 0.5,
                rounds: 2,
                samples: 40,
                ..w1
            },
            Name::Resnet18 => Self {
                name: "resnet18",
                model: Model::Resnet(Resnet::default()),
                clients: 10,
                batch: 20,
                degree: 3,
                momentum: 0.9,
                keeps_velocity: true,
                rounds: 1,
                samples: 40,
                ..w1
            },
            Name::W6 | Name::Copy => Self {
                name: if name == Name::W6 { "w6" } else { "copy" },
                rounds: 1,
                steps: 0,
                batch: 0,
                samples: 0,
                ..w1
            },
        }
    }
}
