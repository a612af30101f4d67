//! One client at a time, in double precision.

use super::{Models, RATE};
use meshfold_engine::{Learner, oracle};
use meshfold_topology::MixingMatrix;

/// The learning rate as the engine has it.
pub(crate) fn rate() -> f64 {
    f64::from(RATE)
}

/// Mean gradient of one client on its whole shard.
pub(crate) fn gradient(learner: &Learner, client: usize, w: &[f64]) -> Vec<f64> {
    gradient_on(learner, learner.partition().shard(client), w)
}

/// Mean gradient on the examples `batch`.
pub(crate) fn gradient_on(learner: &Learner, batch: &[u32], w: &[f64]) -> Vec<f64> {
    let train = &learner.splits().train;
    let x: Vec<f64> = batch
        .iter()
        .flat_map(|index| train.row(*index as usize))
        .map(f64::from)
        .collect();
    let labels: Vec<u16> = batch
        .iter()
        .map(|index| train.labels()[*index as usize])
        .collect();
    oracle::plain(learner.network(), w, &x, &labels).1
}

/// How a client trains: full batches at a constant rate.
#[derive(Clone, Copy)]
pub(crate) struct Descent {
    pub(crate) steps: usize,
    pub(crate) rate: f64,
    pub(crate) momentum: f64,
    pub(crate) nesterov: bool,
    pub(crate) decay: f64,
}

/// `steps` plain steps.
pub(crate) fn steps(steps: usize) -> Descent {
    Descent {
        steps,
        rate: rate(),
        momentum: 0.0,
        nesterov: false,
        decay: 0.0,
    }
}

impl Descent {
    pub(crate) fn momentum(self, momentum: f32) -> Self {
        let momentum = f64::from(momentum);
        Self { momentum, ..self }
    }

    pub(crate) fn nesterov(self) -> Self {
        Self {
            nesterov: true,
            ..self
        }
    }

    pub(crate) fn decay(self, decay: f32) -> Self {
        let decay = f64::from(decay);
        Self { decay, ..self }
    }

    pub(crate) fn rate(self, rate: f64) -> Self {
        Self { rate, ..self }
    }

    /// `g + λw` of one client.
    pub(crate) fn decayed(self, learner: &Learner, client: usize, w: &[f64]) -> Vec<f64> {
        sum(&[(1.0, &gradient(learner, client, w)), (self.decay, w)])
    }

    /// Steps with momentum from `w` with velocity `v`; both move.
    pub(crate) fn go(self, learner: &Learner, client: usize, w: &mut Vec<f64>, v: &mut Vec<f64>) {
        for _ in 0..self.steps {
            let g = self.decayed(learner, client, w);
            *v = sum(&[(self.momentum, v), (1.0, &g)]);
            let along = self.along(&g, v);
            *w = sum(&[(1.0, w), (-self.rate, &along)]);
        }
    }

    /// What a step goes along, with the gradient `g` and the velocity `v` that it has made.
    pub(crate) fn along(self, g: &[f64], v: &[f64]) -> Vec<f64> {
        match self.nesterov {
            true => sum(&[(1.0, g), (self.momentum, v)]),
            false => v.to_vec(),
        }
    }

    /// What `w` becomes from rest.
    pub(crate) fn from(self, learner: &Learner, client: usize, w: &[f64]) -> Vec<f64> {
        let (mut w, mut v) = (w.to_vec(), vec![0.0; w.len()]);
        self.go(learner, client, &mut w, &mut v);
        w
    }
}

/// `Σ a x`.
pub(crate) fn sum(terms: &[(f64, &[f64])]) -> Vec<f64> {
    let mut out = vec![0.0; terms[0].1.len()];
    for (a, x) in terms {
        for (out, x) in out.iter_mut().zip(*x) {
            *out += a * x;
        }
    }
    out
}

/// The mean of `models[i]` weighted by `weights[i]`.
pub(crate) fn mean(models: &[(f64, &[f64])]) -> Vec<f64> {
    let all: f64 = models.iter().map(|(weight, _)| weight).sum();
    let shares: Vec<(f64, &[f64])> = models.iter().map(|(a, x)| (a / all, *x)).collect();
    sum(&shares)
}

/// `W · models`.
pub(crate) fn mix(matrix: &MixingMatrix, models: &[Vec<f64>]) -> Models {
    (0..matrix.rows())
        .map(|row| {
            let terms: Vec<(f64, &[f64])> = matrix
                .row(row)
                .map(|(column, weight)| (weight, models[column as usize].as_slice()))
                .collect();
            sum(&terms)
        })
        .collect()
}

/// Largest distance of a model from `target`.
pub(crate) fn distance(models: &[Vec<f64>], target: &[f64]) -> f64 {
    models.iter().fold(0.0, |most, model| {
        let error = sum(&[(1.0, model), (-1.0, target)]);
        f64::max(most, error.iter().map(|e| e * e).sum::<f64>().sqrt())
    })
}
