//! The keys that every method shares: how a client trains.

use crate::error::AlgorithmError;
use meshfold_engine::{Amount, BatchSize, LearningRate, Per, Progress, Sgd};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// Local work of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Local {
    /// Passes over the shard.
    Epochs(u32),
    /// Mini-batch steps; the pass over the shard goes on over rounds. Where a server chooses some clients for each round, a client may
    /// begin a new pass.
    Steps(u32),
}

/// As a configuration says it: `{steps: 3}`.
impl Display for Local {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Epochs(epochs) => write!(f, "{{epochs: {epochs}}}"),
            Self::Steps(steps) => write!(f, "{{steps: {steps}}}"),
        }
    }
}

impl Local {
    /// `rate` by the epochs that are due, if epochs are.
    pub fn due(self, rate: &LearningRate) -> LearningRate {
        match self {
            Self::Epochs(epochs) => rate.clone().with_epochs_due(epochs, 0),
            Self::Steps(_) => rate.clone(),
        }
    }

    /// How many epochs or steps.
    pub fn count(self) -> u32 {
        match self {
            Self::Epochs(count) | Self::Steps(count) => count,
        }
    }

    /// The same as work of a row.
    pub fn amount(self) -> Amount {
        match self {
            Self::Epochs(epochs) => Amount::Epochs(epochs),
            Self::Steps(steps) => Amount::Steps(steps),
        }
    }
}

/// Examples of a mini-batch: a number, of which a smaller shard is one batch, or `full` for the whole shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSetting(pub BatchSize);

impl Serialize for BatchSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            BatchSize::Full => serializer.serialize_str("full"),
            BatchSize::Size(size) => serializer.serialize_u32(size),
        }
    }
}

impl<'de> Deserialize<'de> for BatchSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Batch;
        impl Visitor<'_> for Batch {
            type Value = BatchSetting;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of examples or `full`")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<BatchSetting, E> {
                let size = u32::try_from(value).map_err(|_| {
                    let needed = format!("a number of examples up to {}, or `full`", u32::MAX);
                    E::invalid_value(de::Unexpected::Unsigned(value), &needed.as_str())
                })?;
                Ok(BatchSetting(BatchSize::Size(size)))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<BatchSetting, E> {
                let size = u32::try_from(value)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))?;
                Ok(BatchSetting(BatchSize::Size(size)))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<BatchSetting, E> {
                match value {
                    "full" => Ok(BatchSetting(BatchSize::Full)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(Batch)
    }
}

impl JsonSchema for BatchSetting {
    fn schema_name() -> Cow<'static, str> {
        "BatchSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of examples, or `full` for the whole shard.",
            "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "full" }],
        })
    }
}

/// How a client trains, whatever the method.
///
/// # Interpretation
/// A learning rate `per: epoch` counts the epochs that were due, `k = (t − 1) K + k'` in epoch `k'` of round `t` with
/// `local: {epochs: K}`, as DFedRW (Wang et al.) does below (10): a client that was not chosen, was dropped or was cut
/// short has the rate of the others. With `restart: round`, or `local: {steps}`, it counts the epochs that the row itself
/// has done.
#[derive(Debug, Clone, PartialEq)]
pub struct Training {
    /// Work of one round.
    pub local: Local,
    /// The rest of it.
    pub sgd: Sgd,
}

/// How far a model comes in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepsPerRound {
    /// Local steps.
    pub steps: f64,
    /// The same in passes over the client's examples.
    pub epochs: f64,
}

impl Training {
    /// Checks the learning rate of a method whose server chooses some clients for a round.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`] if the rate counts past steps or epochs of a client. The engine counts by rows, and
    /// a row may stand for another client in each round.
    pub fn check_rate_of_chosen(&self) -> Result<(), AlgorithmError> {
        let found = match (self.local, self.sgd.learning_rate.per_over_rounds()) {
            (Local::Epochs(_), Some(Per::Step)) => "per: step",
            (Local::Steps(_), Some(Per::Epoch)) => "per: epoch",
            _ => return Ok(()),
        };
        let needed = "what a client has done before is not counted where some take part in a round and others do not: `per: round`, \
                      `restart: round`, `per: epoch` with `local: {epochs: K}` or `per: step` with `local: {steps: K}`";
        Err(AlgorithmError::setting("learning_rate", found, needed))
    }

    /// Checks every value, and asks a learning rate of a program's own for its first rate.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`], naming the key; [`EngineError::OwnRate`](meshfold_engine::EngineError::OwnRate) if there is no such
    /// rate.
    pub fn check(&self) -> Result<(), AlgorithmError> {
        let sgd = &self.sgd;
        if matches!(self.local, Local::Epochs(0) | Local::Steps(0)) {
            let needed = "a client must do at least one step or epoch";
            return Err(AlgorithmError::setting("local", "0", needed));
        }
        if sgd.batch_size == BatchSize::Size(0) {
            let needed = "a batch has at least one example (or is `full`)";
            return Err(AlgorithmError::setting("batch_size", "0", needed));
        }
        if let Some(needed) = sgd.learning_rate.fault() {
            return Err(AlgorithmError::setting(
                "learning_rate",
                format!("{:?}", sgd.learning_rate),
                needed,
            ));
        }
        sgd.learning_rate.try_at(&Progress::default())?;
        if !(0.0..1.0).contains(&sgd.momentum) {
            let needed = "it must be at least 0 and below 1";
            return Err(AlgorithmError::setting("momentum", sgd.momentum, needed));
        }
        if !(sgd.weight_decay >= 0.0 && sgd.weight_decay.is_finite()) {
            return Err(AlgorithmError::setting(
                "weight_decay",
                sgd.weight_decay,
                "it must be finite and not negative",
            ));
        }
        match sgd.clip_norm {
            Some(norm) if !(norm > 0.0 && norm.is_finite()) => Err(AlgorithmError::setting(
                "clip_norm",
                norm,
                "it must be positive and finite, or left out",
            )),
            _ => Ok(()),
        }
    }

    /// Checks that Nesterov momentum has a momentum.
    ///
    /// # Errors
    /// [`AlgorithmError::Setting`] if there is none.
    pub fn check_nesterov(&self) -> Result<(), AlgorithmError> {
        if self.sgd.momentum != 0.0 || !self.sgd.nesterov {
            return Ok(());
        }
        let needed = "`momentum` is 0: Nesterov's is a kind of momentum, so set one, such as `momentum: 0.9`, or leave `nesterov` out";
        Err(AlgorithmError::setting("nesterov", true, needed))
    }

    /// The key by which steps have momentum, and its value; `None` if they have none.
    pub fn momentum_key(&self) -> Option<(&'static str, String)> {
        let Sgd {
            momentum, nesterov, ..
        } = self.sgd;
        match (momentum, nesterov) {
            (0.0, false) => None,
            (0.0, true) => Some(("nesterov", nesterov.to_string())),
            _ => Some(("momentum", momentum.to_string())),
        }
    }

    /// Local steps of one round in which all clients train.
    pub fn steps_of_all(&self, setting: &crate::Setting) -> f64 {
        let steps = |shard: &usize| f64::from(self.steps_on(*shard));
        setting.shard_sizes.iter().map(steps).sum()
    }

    /// Local steps and epochs of a client in one round, in the mean over all clients.
    pub fn steps_per_round(&self, setting: &crate::Setting) -> StepsPerRound {
        let clients = setting.clients.max(1) as f64;
        let steps = self.steps_of_all(setting) / clients;
        let in_an_epoch = |shard: &usize| f64::from(self.sgd.steps_on(Amount::Epochs(1), *shard));
        let epochs = match self.local {
            Local::Epochs(epochs) => f64::from(epochs),
            Local::Steps(_) => {
                let all: f64 = setting.shard_sizes.iter().map(in_an_epoch).sum();
                steps * clients / all.max(1.0)
            }
        };
        StepsPerRound { steps, epochs }
    }

    /// Local steps of a client with `shard` examples in one round.
    pub fn steps_on(&self, shard: usize) -> u32 {
        self.sgd.steps_on(self.local.amount(), shard)
    }
}

/// One epoch, the default of most methods.
pub fn one_epoch() -> Local {
    Local::Epochs(1)
}

/// One step, the default of methods that exchange after each.
pub fn one_step() -> Local {
    Local::Steps(1)
}

/// No momentum.
pub fn no_momentum() -> f32 {
    0.0
}

/// A momentum of .9.
pub fn heavy_momentum() -> f32 {
    0.9
}

/// Refuses local work other than one step, for methods whose rounds are single steps.
pub fn one_step_a_round(method: &'static str, local: Local) -> Result<(), AlgorithmError> {
    if local == Local::Steps(1) {
        return Ok(());
    }
    Err(AlgorithmError::Unsuited {
        method,
        key: "local",
        found: local.to_string(),
        needed: "it exchanges after every step, `{steps: 1}`",
    })
}

/// Refuses local work other than one step without momentum, for methods whose rounds are single steps.
pub fn one_plain_step(method: &'static str, training: &Training) -> Result<(), AlgorithmError> {
    one_step_a_round(method, training.local)?;
    let Some((key, found)) = training.momentum_key() else {
        return Ok(());
    };
    Err(AlgorithmError::Unsuited {
        method,
        key,
        found,
        needed: "it is defined without momentum",
    })
}

/// Declares a method's configuration: its own keys, and then those of [`Training`].
///
/// `local` and `momentum` name the functions that give their defaults. Flattening the shared keys instead would lose
/// both the place of an error and the refusal of unknown keys.
#[macro_export]
macro_rules! method_config {
    (
        $(#[$doc:meta])*
        pub struct $name:ident (local = $local:literal, momentum = $momentum:literal) {
            $($(#[$field_doc:meta])* pub $field:ident: $kind:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
            /// Work of one round. `gradient_tracking`, `d2`, `exact_diffusion` and `qg_dsgdm` make one step, `{steps: 1}`, and refuse others.
            #[serde(default = $local)]
            pub local: $crate::training::Local,
            /// Examples of a mini-batch, at most as many as the client has; `full` is all of them.
            pub batch_size: $crate::training::BatchSetting,
            /// How batches are drawn.
            #[serde(default)]
            pub draw: $crate::meshfold_engine::Draw,
            /// A number or a schedule.
            pub learning_rate: $crate::meshfold_engine::LearningRate,
            /// Momentum β in `[0, 1)`, that of a heavy ball unless `nesterov` is true: `v <- β v + g`, `w <- w − η v`.
            #[serde(default = $momentum)]
            pub momentum: f32,
            /// Whether momentum is Nesterov's, as in PyTorch's SGD without dampening: `v <- β v + g`, `w <- w − η (g + β v)`, after Sutskever et
            /// al., On the importance of initialization and momentum in deep learning (2013). From `v = 0` the first step is `η (1 + β) g`. It
            /// needs a `momentum` above 0. `dfedavg`, `scaffold`, `gradient_tracking`, `d2`, `exact_diffusion` and `qg_dsgdm` refuse it.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            pub nesterov: bool,
            /// Weight decay λ: `λ w` is added to each gradient, after clipping. It is part of the momentum, and biases decay, too.
            #[serde(default)]
            pub weight_decay: f32,
            /// Largest norm of a mini-batch gradient.
            #[serde(default)]
            pub clip_norm: Option<f32>,
        }

        impl $name {
            /// The keys that all methods have.
            pub fn training_keys(&self) -> $crate::training::Training {
                $crate::training::Training {
                    local: self.local,
                    sgd: $crate::meshfold_engine::Sgd {
                        learning_rate: self.local.due(&self.learning_rate),
                        momentum: self.momentum,
                        nesterov: self.nesterov,
                        weight_decay: self.weight_decay,
                        clip_norm: self.clip_norm,
                        batch_size: self.batch_size.0,
                        draw: self.draw,
                    },
                }
            }
        }
    };
}

method_config! {
    /// The keys that every method has, and no others.
    pub struct TrainingKeys(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {}
}

impl TrainingKeys {
    /// The names of the keys.
    pub const NAMES: &[&str] = &[
        "local",
        "batch_size",
        "draw",
        "learning_rate",
        "momentum",
        "nesterov",
        "weight_decay",
        "clip_norm",
    ];
}
