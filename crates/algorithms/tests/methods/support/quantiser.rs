//! (12) of DFedRW in double precision.

use super::SEED;
use meshfold_algorithms::Quantise;
use meshfold_engine::{Key, Layout, NormScope, Purpose, stream, uniform};
use rand::Rng;

/// Which message a model is quantised for.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    pub(crate) round: usize,
    pub(crate) row: usize,
    /// 0 in aggregation.
    pub(crate) visit: u32,
}

/// `Q(w)`: each parameter at one of the two levels around it, the upper one with probability Φ.
pub(crate) fn quantised(
    w: &[f64],
    layout: &Layout,
    quantise: Quantise,
    message: Message,
) -> Vec<f64> {
    let key = Key {
        round: message.round as u64,
        row: message.row as u32,
        step: message.visit,
        layer: 0,
    };
    let mut rng = stream(SEED, Purpose::Quantisation, key);
    let key = [rng.next_u32(), rng.next_u32()];
    let interval = 1.0 / f64::from((1u32 << (quantise.bits - 1)) - 1);
    let mut out = vec![0.0; w.len()];
    let scopes: Vec<_> = match quantise.norm {
        NormScope::Model => std::iter::once(0..w.len()).collect(),
        NormScope::Layer => layout.blocks().iter().map(|block| block.range()).collect(),
    };
    for scope in scopes {
        let norm = w[scope.clone()].iter().map(|w| w * w).sum::<f64>().sqrt();
        if norm == 0.0 {
            continue;
        }
        for at in scope {
            let exact = w[at].abs() / norm / interval;
            let level = exact.floor();
            let up = f64::from(uniform(key, at as u32)) < exact - level;
            let level = level + f64::from(u8::from(up));
            out[at] = interval * level * norm * w[at].signum();
        }
    }
    out
}
