//! Where the gradients of a batch go.

use crate::cpu::Cpu;
use crate::kernels::{
    ColumnSubset, HeavyBallUpdate, MANY_ROWS, MomentumKind, Moves, NextProduct, Outer, OuterBlocks,
    Plain, StepAhead, Store, Update,
};
use crate::network::precision::Precision;
use std::ops::Range;

/// Where the gradients of a batch go.
#[derive(Debug)]
pub(crate) enum Sink<'a> {
    /// Straight into the weights, without momentum.
    Plain {
        weights: &'a mut [f32],
        rate: f32,
        decay: f32,
    },
    /// Straight into velocity and weights.
    HeavyBall {
        weights: &'a mut [f32],
        velocity: &'a mut [f32],
        rate: f32,
        momentum: f32,
        decay: f32,
        kind: MomentumKind,
    },
    /// Into a buffer, added to what it holds if `add`.
    Gradient {
        weights: &'a [f32],
        gradient: &'a mut [f32],
        add: bool,
    },
}

/// One product of the backward pass, `xᵀ · d`, where rows of `x` are `x_stride` apart. With a `subset` of the columns
/// of `x`, it has only the rows of these columns.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a> {
    /// The precision of both operands; in bfloat16 a row holds pairs of their rows.
    pub(crate) precision: Precision,
    pub(crate) x: &'a [f32],
    pub(crate) x_stride: usize,
    pub(crate) subset: Option<ColumnSubset<'a>>,
    pub(crate) inner: usize,
    pub(crate) d: &'a [f32],
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl<'a> Product<'a> {
    /// Rows `range` of the gradient.
    fn rows_of_gradient<U>(&self, range: Range<usize>, update: U) -> Outer<'a, U> {
        Outer {
            x: self.x.get(range.start..).unwrap_or_default(),
            x_stride: self.x_stride,
            line: self.rows,
            line_stride: 0,
            subset: self.subset.map(|subset| subset.part(range.clone())),
            d: self.d,
            rows: self.rows,
            inner: range.len(),
            columns: self.columns,
            update,
        }
    }

    /// The sum of the rows of `d` `[_, columns]`, each times one of `ones`, of which there are as many or more: the gradient of a bias.
    pub(crate) fn sum_of_rows(d: &'a [f32], columns: usize, ones: &'a [f32]) -> Self {
        let rows = d.len() / columns;
        Self {
            precision: Precision::F32,
            x: &ones[..rows],
            x_stride: 1,
            subset: None,
            inner: 1,
            d,
            columns,
            rows,
        }
    }
}

impl Sink<'_> {
    pub(crate) fn weights(&self) -> &[f32] {
        match self {
            Self::Plain { weights, .. } | Self::HeavyBall { weights, .. } => weights,
            Self::Gradient { weights, .. } => weights,
        }
    }

    /// Takes a product as the gradient of the parameters in `range`, computed in `pieces` that threads share.
    pub(crate) fn accept(
        &mut self,
        cpu: &Cpu,
        product: &Product<'_>,
        range: Range<usize>,
        pieces: usize,
    ) {
        if let Self::Gradient { gradient, add, .. } = self {
            let update = Store {
                gradient: &mut gradient[range],
                add: *add,
            };
            return run(cpu, product, 0..product.inner, update, pieces);
        }
        self.move_by(
            range,
            Whole {
                cpu,
                product,
                pieces,
            },
        );
    }

    /// As [`Sink::accept`] of pairs on one thread, and computes a product `next` with the weights that this leaves; in tiles alone.
    pub(crate) fn accept_before(
        &mut self,
        cpu: &Cpu,
        product: &Product<'_>,
        range: Range<usize>,
        next: NextProduct<'_>,
    ) {
        self.move_by(range, Ahead { cpu, product, next });
    }

    /// Has `work` move the parameters in `range`.
    fn move_by(&mut self, range: Range<usize>, work: impl MovingWork) {
        match self {
            Self::Plain {
                weights,
                rate,
                decay,
            } => {
                let update = Plain {
                    weights: &mut weights[range],
                    rate: *rate,
                    decay: *decay,
                };
                work.with(update);
            }
            Self::HeavyBall {
                weights,
                velocity,
                rate,
                momentum,
                decay,
                kind,
            } => {
                let update = HeavyBallUpdate {
                    weights: &mut weights[range.clone()],
                    velocity: &mut velocity[range],
                    rate: *rate,
                    momentum: *momentum,
                    decay: *decay,
                    kind: *kind,
                };
                work.with(update);
            }
            Self::Gradient { .. } => unreachable!("a gradient that is kept moves nothing"),
        }
    }

    /// Takes `values` as the gradient of the parameters in `range`.
    pub(crate) fn settle(&mut self, cpu: &Cpu, range: Range<usize>, values: &[f32]) {
        let product = Product {
            precision: Precision::F32,
            x: &[1.0],
            x_stride: 1,
            subset: None,
            inner: 1,
            d: values,
            columns: values.len(),
            rows: 1,
        };
        // A product with a single one is the values themselves.
        self.accept(cpu, &product, range, 1);
    }

    /// Takes zero as the gradient of the parameters in `range`, which momentum and decay may still move.
    pub(crate) fn settle_zero(&mut self, cpu: &Cpu, range: Range<usize>) {
        let nothing_moves = match self {
            Self::Plain { decay, .. } => *decay == 0.0,
            Self::HeavyBall { .. } => false,
            Self::Gradient { add, .. } => *add,
        };
        if !nothing_moves {
            let product = Product {
                precision: Precision::F32,
                x: &[],
                x_stride: 1,
                subset: None,
                inner: 1,
                d: &[],
                columns: range.len(),
                rows: 0,
            };
            self.accept(cpu, &product, range, 1);
        }
    }
}

/// What ends in an update of parameters.
trait MovingWork {
    fn with<U: Moves + Send>(self, update: U);
}

/// A gradient, in pieces that threads share.
struct Whole<'a> {
    cpu: &'a Cpu,
    product: &'a Product<'a>,
    pieces: usize,
}

impl MovingWork for Whole<'_> {
    fn with<U: Moves + Send>(self, update: U) {
        let all = 0..self.product.inner;
        run(self.cpu, self.product, all, update, self.pieces);
    }
}

/// A gradient, and the product after its update.
struct Ahead<'a> {
    cpu: &'a Cpu,
    product: &'a Product<'a>,
    next: NextProduct<'a>,
}

impl MovingWork for Ahead<'_> {
    fn with<U: Moves + Send>(self, update: U) {
        let step = StepAhead {
            gradient: self.product.rows_of_gradient(0..self.product.inner, update),
            next: self.next,
        };
        let precision = self.product.precision;
        self.cpu.instructions().multiply(precision, step);
    }
}

/// Computes rows `range` of the gradient, cut into `pieces` that threads share.
fn run<U: Update + Send>(
    cpu: &Cpu,
    product: &Product<'_>,
    range: Range<usize>,
    update: U,
    pieces: usize,
) {
    if pieces > 1 && range.len() > 1 {
        let middle = range.start + range.len() / 2;
        let (low, high) = update.split((middle - range.start) * product.columns);
        rayon::join(
            || run(cpu, product, range.start..middle, low, pieces / 2),
            || run(cpu, product, middle..range.end, high, pieces - pieces / 2),
        );
        return;
    }
    let part = product.rows_of_gradient(range, update);
    if product.rows >= MANY_ROWS && product.inner > 1 {
        cpu.instructions()
            .multiply(product.precision, OuterBlocks(part));
    } else {
        cpu.instructions().multiply(product.precision, part);
    }
}
