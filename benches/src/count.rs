//! A few local steps of one client and nothing else, for tools that count instructions.
//!
//! What a step costs is the difference between two runs that take different numbers of them: all the rest cancels.

use crate::BenchError;
use crate::case::{Case, Name};
use crate::training::{learner, rows, sgd};
use clap::{Args, ValueEnum};
use meshfold_engine::{
    CharLstm, Device, DeviceRequest, Instructions, LocalWork, Model, Resnet, Start, Velocity,
};
use serde_json::{Value, json};

/// A family of models by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    /// Logistic regression, as in W1.
    Logistic,
    /// A dense network with a hidden layer of 200 units and momentum, as in W2.
    Mlp,
    /// LeNet with group normalisation and momentum, as in W4 but on batches of 4.
    GnLenet,
    /// Two convolutions and a hidden layer of 512 units, on batches of 4 colour images.
    CnnCifar,
    /// A residual network of ten layers that starts with 16 channels, on batches of 4 colour images.
    Resnet,
    /// A recurrent network with two layers of 64 units, on batches of 10 windows of 80 characters.
    CharLstm,
}

/// What to count.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The family of models.
    #[arg(value_enum)]
    model: Family,
    /// Local steps.
    #[arg(long, default_value_t = 1)]
    steps: u32,
    /// Instruction set: amx-bf16, avx512-bf16, avx512, avx2, neon or portable (default: the widest).
    #[arg(long)]
    cpu: Option<Instructions>,
}

impl Family {
    fn case(self, steps: u32) -> Case {
        let case = match self {
            Self::Logistic => Case::of(Name::W1),
            Self::Mlp => Case::of(Name::W2),
            Self::GnLenet => Case {
                batch: 4,
                ..Case::of(Name::W4)
            },
            Self::CnnCifar => Case {
                model: Model::CnnCifar,
                batch: 4,
                ..Case::of(Name::W1)
            },
            Self::Resnet => Case {
                model: Model::Resnet(Resnet {
                    depth: 10,
                    width: 16,
                    groups: 4,
                }),
                batch: 4,
                ..Case::of(Name::W1)
            },
            Self::CharLstm => Case {
                model: Model::CharLstm(CharLstm {
                    hidden: 64,
                    ..CharLstm::default()
                }),
                ..Case::of(Name::W5)
            },
        };
        Case {
            clients: 1,
            samples: 20,
            steps,
            ..case
        }
    }
}

/// Takes the steps on one thread.
pub(crate) fn run(arguments: &Arguments) -> Result<Value, BenchError> {
    let case = arguments.model.case(arguments.steps);
    let device = Device::open(DeviceRequest::Cpu, Some(1), arguments.cpu)?;
    let mut learner = learner(&case, &device, 1)?;
    let mut models = learner.initial(case.clients, Start::Same)?;
    let (rows, sgd) = (rows(&case), sgd(&case));
    let work = LocalWork::new(1, &rows, &sgd);
    learner.train(&mut models, Velocity::Fresh, &work)?;
    let model = arguments.model.to_possible_value();
    Ok(json!({
        "model": model.as_ref().map(|model| model.get_name()),
        "steps": case.steps,
        "device": device.kind(),
        "loss": learner.tally().train_loss,
    }))
}
