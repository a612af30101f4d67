//! The minimum of a strongly convex loss, and how far from it what was found can be.
//!
//! Written here and not taken from `argmin`, which asks for loss and gradient one by one, each a pass over all examples.

use std::collections::VecDeque;

use super::lanes::{add_scaled, dot};

/// Steps after which a search ends wherever it is.
const STEPS: usize = 1000;

/// Steps that a search remembers.
const MEMORY: usize = 50;

/// How often a step that does not lower the loss is shortened at most.
const SHORTENINGS: usize = 50;

/// The share of the decrease predicted by the slope that a step must reach.
const DECREASE: f64 = 1e-4;

/// A loss near its minimum.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Minimum {
    /// The model that has it.
    pub(super) model: Vec<f64>,
    /// The loss.
    pub(super) loss: f64,
    /// Bound on how far it is above the minimum, but for rounding.
    pub(super) error: f64,
}

/// A loss `F ≥ 0` with `F(w) − μ/2 ‖w‖²` convex.
pub(super) trait StronglyConvex {
    /// Numbers of a model.
    fn parameters(&self) -> usize;

    /// `μ`, above 0.
    fn convexity(&self) -> f64;

    /// Whether nobody waits for the minimum any more.
    fn is_called_off(&self) -> bool {
        false
    }

    /// The loss of `model`; its gradient goes to `gradient`.
    fn at(&self, model: &[f64], gradient: &mut [f64]) -> f64;
}

/// Searches for the minimum until `F(w) − F* ≤ ‖∇F(w)‖²/(2μ)` proves that the loss is at most `tolerance` nats above
/// it, for at most 1000 steps, or until it is called off.
///
/// # Source
/// L-BFGS: Nocedal and Wright, Numerical Optimization (2006), Algorithms 7.4 and 7.5, with steps shortened as in their
/// section 3.5. The bound: Boyd and Vandenberghe, Convex Optimization (2004), (9.9).
pub(super) fn minimum(loss: &impl StronglyConvex, tolerance: f64) -> Minimum {
    let mut here = Point::of(loss, vec![0.0; loss.parameters()]);
    let mut memory = Memory::default();
    let mut floor = 0.0_f64; // The minimum is not below it.
    for _ in 0..STEPS {
        floor = floor.max(here.floor(loss));
        if here.loss - floor <= tolerance || loss.is_called_off() {
            break;
        }
        let direction = memory.direction(&here.gradient);
        let Some(there) = here.step(loss, &direction) else {
            break;
        };
        memory.learn(&here, &there);
        here = there;
    }
    floor = floor.max(here.floor(loss));
    Minimum {
        model: here.model,
        loss: here.loss,
        error: (here.loss - floor).max(0.0),
    }
}

/// A model, its loss and the gradient there.
struct Point {
    model: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
}

impl Point {
    fn of(loss: &impl StronglyConvex, model: Vec<f64>) -> Self {
        let mut gradient = vec![0.0; model.len()];
        Self {
            loss: loss.at(&model, &mut gradient),
            model,
            gradient,
        }
    }

    /// A lower bound on the minimum.
    fn floor(&self, loss: &impl StronglyConvex) -> f64 {
        self.loss - dot(&self.gradient, &self.gradient) / (2.0 * loss.convexity())
    }

    /// A point along `direction` with a lower loss; `None` if rounding hides it.
    fn step(&self, loss: &impl StronglyConvex, direction: &[f64]) -> Option<Self> {
        let slope = dot(&self.gradient, direction);
        let mut length = 1.0;
        for _ in 0..SHORTENINGS {
            let mut model = self.model.clone();
            add_scaled(&mut model, length, direction);
            let there = Self::of(loss, model);
            if there.loss < self.loss + DECREASE * length * slope {
                return Some(there);
            }
            // Where the parabola through both losses with this slope is least.
            let excess = there.loss - self.loss - length * slope;
            let least = -0.5 * slope * length * length / excess;
            length = least.max(0.1 * length).min(0.5 * length);
        }
        None
    }
}

/// The last steps `s`, the changes `y` of the gradient and `s·y`, oldest first.
#[derive(Default)]
struct Memory(VecDeque<(Vec<f64>, Vec<f64>, f64)>);

impl Memory {
    fn learn(&mut self, from: &Point, to: &Point) {
        let change = |from: &[f64], to: &[f64]| -> Vec<f64> {
            to.iter().zip(from).map(|(to, from)| to - from).collect()
        };
        let step = change(&from.model, &to.model);
        let bend = change(&from.gradient, &to.gradient);
        let product = dot(&step, &bend);
        // Rounding alone can make it otherwise.
        if product > 0.0 {
            if self.0.len() == MEMORY {
                self.0.pop_front();
            }
            self.0.push_back((step, bend, product));
        }
    }

    /// Minus what these steps suggest for the inverse of the Hessian, times `gradient`; of length one if there is none.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|value| -value).collect();
        let mut shares = Vec::with_capacity(self.0.len());
        for (step, bend, product) in self.0.iter().rev() {
            let share = dot(step, &direction) / product;
            add_scaled(&mut direction, -share, bend);
            shares.push(share);
        }
        let scale = match self.0.back() {
            Some((_, bend, product)) => product / dot(bend, bend),
            None => 1.0 / dot(gradient, gradient).sqrt(),
        };
        direction.iter_mut().for_each(|value| *value *= scale);
        for ((step, bend, product), share) in self.0.iter().zip(shares.into_iter().rev()) {
            let rest = share - dot(bend, &direction) / product;
            add_scaled(&mut direction, rest, step);
        }
        direction
    }
}
