//! The verbs on stacks against host loops, on odd sizes, one row and an isolated node.

use crate::support::cpu;
use crate::support::quantising::expect_unbiased_within_the_bound;
use meshfold_engine::{
    Device, EngineError, Layout, Mixing, MomentumRule, NormScope, Quantiser, Stack, uniform,
};
use meshfold_topology::MixingMatrix;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) fn layout(sizes: &[usize]) -> Arc<Layout> {
    let mut layout = Layout::default();
    for (index, size) in sizes.iter().enumerate() {
        layout.push(format!("block{index}"), 1, *size);
    }
    Arc::new(layout)
}

/// A stack with numbers in its blocks and zeros in its padding.
pub(crate) fn stack(device: &Device, layout: &Arc<Layout>, rows: usize, salt: usize) -> Stack {
    let mut values = vec![0.0; rows * layout.width()];
    for (index, row) in values.chunks_exact_mut(layout.width()).enumerate() {
        for block in layout.blocks() {
            for at in block.range() {
                row[at] = ((at * 7919 + (index + salt) * 104_729) % 1000) as f32 / 500.0 - 1.0;
            }
        }
    }
    Stack::from_host(device, layout, values).unwrap()
}

fn mixed(matrix: &MixingMatrix, values: &[f32], width: usize) -> Vec<f64> {
    let mut out = vec![0.0; matrix.rows() * width];
    for (row, out) in out.chunks_exact_mut(width).enumerate() {
        for (column, weight) in matrix.row(row) {
            for (out, value) in out
                .iter_mut()
                .zip(&values[column as usize * width..][..width])
            {
                *out += weight * f64::from(*value);
            }
        }
    }
    out
}

#[test]
fn mixing_equals_a_host_loop() {
    let ring = |n: u32| {
        (0..n)
            .map(|i| vec![((i + n - 1) % n, 0.25), (i, 0.5), ((i + 1) % n, 0.25)])
            .collect::<Vec<_>>()
    };
    let sorted = |mut rows: Vec<Vec<(u32, f64)>>| {
        rows.iter_mut()
            .for_each(|row| row.sort_by_key(|(column, _)| *column));
        rows
    };
    let isolated = vec![
        vec![(0, 0.5), (2, 0.5)],
        vec![(1, 1.0)],
        vec![(0, 0.5), (2, 0.5)],
    ];
    let cases = [
        MixingMatrix::from_rows(9, sorted(ring(9))).unwrap(),
        MixingMatrix::from_rows(3, isolated).unwrap(),
        MixingMatrix::from_rows(1, vec![vec![(0, 1.0)]]).unwrap(),
        MixingMatrix::from_rows(4, vec![vec![(1, 0.3), (3, 0.7)]]).unwrap(),
        MixingMatrix::average(5, vec![0.1, 0.2, 0.3, 0.2, 0.2]).unwrap(),
        MixingMatrix::average(1, vec![0.5, 0.5]).unwrap(),
        MixingMatrix::average_among(vec![0.0, 0.5, 0.2, 0.0, 0.3]).unwrap(),
    ];
    let layout = layout(&[7, 401, 1]);
    for threads in [1, 2] {
        for matrix in &cases {
            let mut stack = stack(&cpu(threads, None), &layout, matrix.columns(), 0);
            let before = stack.to_host();
            let mixing = Mixing::new(matrix);
            stack.mix(&mixing).unwrap();
            let after = stack.to_host();
            assert_eq!(stack.rows(), matrix.rows());
            let expected = mixed(matrix, &before, layout.width());
            // Weighted means of up to five numbers below 1, in f32.
            assert!(
                after
                    .iter()
                    .zip(&expected)
                    .all(|(a, b)| (f64::from(*a) - b).abs() < 3e-7)
            );
            if matrix.rows() == matrix.columns() {
                stack.mix(&mixing).unwrap();
                let again = mixed(matrix, &after, layout.width());
                assert!(
                    stack
                        .to_host()
                        .iter()
                        .zip(&again)
                        .all(|(a, b)| (f64::from(*a) - b).abs() < 3e-7)
                );
            }
        }
    }
}

#[test]
fn large_stacks_mix_as_small_ones_do() {
    // 130 MiB for both: what is mixed is written past the caches. The same columns of a narrower stack are not.
    let (rows, narrow) = (260u32, 64 * 5);
    let entries = |row: u32| [0, 3, row, (row + 7) % rows];
    let matrix = (0..rows)
        .map(|row| {
            let columns: BTreeSet<u32> = entries(row).into_iter().collect();
            let weight = 1.0 / columns.len() as f64;
            columns.into_iter().map(|column| (column, weight)).collect()
        })
        .collect();
    let matrix = MixingMatrix::from_rows(rows as usize, matrix).unwrap();
    let of = |parameters: usize, threads: usize| {
        let layout = layout(&[parameters]);
        let width = layout.width();
        let mut values = vec![0.0; rows as usize * width];
        for (row, values) in values.chunks_exact_mut(width).enumerate() {
            for (at, value) in values.iter_mut().enumerate() {
                *value = ((at % narrow * 7919 + row * 104_729) % 1000) as f32 / 500.0 - 1.0;
            }
        }
        let mut stack = Stack::from_host(&cpu(threads, None), &layout, values).unwrap();
        stack.mix(&Mixing::new(&matrix)).unwrap();
        (stack.to_host(), width)
    };
    let (small, _) = of(narrow, 1);
    for threads in [1, 2] {
        let (large, width) = of(narrow * 205, threads);
        assert_eq!(width, narrow * 205);
        for (large, small) in large.chunks_exact(width).zip(small.chunks_exact(narrow)) {
            assert!(large.chunks_exact(narrow).all(|columns| columns == small));
        }
    }
}

#[test]
fn the_identity_changes_nothing_and_a_wrong_shape_is_refused() {
    let layout = layout(&[10]);
    let mut stack = stack(&cpu(1, None), &layout, 3, 0);
    let before = stack.to_host();
    stack.mix(&Mixing::identity(3)).unwrap();
    assert_eq!(stack.to_host(), before);
    assert_eq!(
        stack.mix(&Mixing::identity(4)),
        Err(EngineError::MixShape {
            matrix_rows: 4,
            matrix_columns: 4,
            rows: 3
        })
    );
}

/// Stacks of this size are laid where others were.
#[test]
fn memory_that_is_used_again_holds_nothing_of_what_was() {
    let (device, layout) = (cpu(2, None), layout(&[1 << 18]));
    drop(stack(&device, &layout, 3, 5));
    let zeros = Stack::zeros(&device, &layout, 3);
    assert!(zeros.to_host().iter().all(|value| *value == 0.0));
    let one = stack(&device, &layout, 3, 6);
    drop(zeros);
    let copy = one.duplicate();
    assert_eq!(copy.to_host(), one.to_host());
    drop(copy);
    let other = Stack::zeros(&device, &layout, 3);
    assert!(other.to_host().iter().all(|value| *value == 0.0));
}

#[cfg(feature = "own-models")]
#[test]
fn a_tensor_holds_the_rows_of_a_stack_that_is_gone() {
    let (device, layout) = (cpu(2, None), layout(&[1 << 18]));
    let one = stack(&device, &layout, 3, 6);
    let copy = one.duplicate();
    let tensor = copy.tensor();
    drop(copy);
    let other = Stack::zeros(&device, &layout, 3);
    assert!(tensor.into_data().try_to_vec::<f32>().unwrap() == one.to_host());
    assert!(other.to_host().iter().all(|value| *value == 0.0));
}

#[test]
fn rows_are_gathered_and_scattered() {
    let layout = layout(&[70]);
    let device = cpu(2, None);
    let mut all = stack(&device, &layout, 5, 0);
    let width = layout.width();
    let before = all.to_host();
    let some = all.gather(&[4, 0, 4]).unwrap();
    assert_eq!(some.to_host()[2 * width..], before[4 * width..]);
    let others = stack(&device, &layout, 2, 50);
    all.scatter(&[3, 1], &others).unwrap();
    assert_eq!(all.to_host()[width..2 * width], others.to_host()[width..]);
    assert_eq!(
        all.to_host()[3 * width..4 * width],
        others.to_host()[..width]
    );
    assert_eq!(all.to_host()[..width], before[..width]);
    assert!(matches!(
        all.gather(&[5]),
        Err(EngineError::RowIndex { row: 5, .. })
    ));
    assert!(matches!(
        all.scatter(&[2, 2], &others),
        Err(EngineError::RowRepeated { row: 2, .. })
    ));
    assert!(matches!(
        all.scatter(&[2, 5], &others),
        Err(EngineError::RowIndex { row: 5, .. })
    ));
    assert!(matches!(
        all.scatter(&[2], &others),
        Err(EngineError::RowCount { .. })
    ));
}

#[test]
fn elementwise_verbs_follow_their_formulas() {
    let layout = layout(&[33, 65]);
    let device = cpu(2, None);
    let (width, rows) = (layout.width(), 3);
    let (mut w, mut v, g) = (
        stack(&device, &layout, rows, 0),
        stack(&device, &layout, rows, 9),
        stack(&device, &layout, rows, 20),
    );
    let (w0, v0, g0) = (w.to_host(), v.to_host(), g.to_host());
    let rates = [0.1, 0.0, 2.0];
    let rule = |nesterov| MomentumRule {
        rates: &rates,
        momentum: 0.9,
        nesterov,
    };
    w.momentum_step(&mut v, &g, rule(false)).unwrap();
    for at in 0..rows * width {
        let velocity = 0.9 * v0[at] + g0[at];
        assert!((v.to_host()[at] - velocity).abs() < 1e-6);
        assert!((w.to_host()[at] - (w0[at] - rates[at / width] * velocity)).abs() < 1e-5);
    }
    let (mut w, mut v) = (
        stack(&device, &layout, rows, 0),
        stack(&device, &layout, rows, 9),
    );
    w.momentum_step(&mut v, &g, rule(true)).unwrap();
    for at in 0..rows * width {
        let velocity = 0.9 * v0[at] + g0[at];
        let along = g0[at] + 0.9 * velocity;
        assert!((v.to_host()[at] - velocity).abs() < 1e-6);
        assert!((w.to_host()[at] - (w0[at] - rates[at / width] * along)).abs() < 1e-5);
    }
    let mut sum = stack(&device, &layout, rows, 0);
    sum.add_scaled(&g, &rates).unwrap();
    sum.scale_rows(&[2.0, 3.0, -1.0]).unwrap();
    for at in 0..rows * width {
        let expected = [2.0, 3.0, -1.0][at / width] * (w0[at] + rates[at / width] * g0[at]);
        assert!((sum.to_host()[at] - expected).abs() < 1e-5);
    }
    assert!(matches!(
        sum.scale_rows(&[1.0]),
        Err(EngineError::RowCount { .. })
    ));
    let other = stack(&device, &layout, 2, 0);
    assert!(matches!(
        sum.add_scaled(&other, &rates),
        Err(EngineError::StackShape { .. })
    ));
}

#[test]
fn means_and_distances_leave_dead_rows_out() {
    let layout = layout(&[41]);
    let stack = stack(&cpu(2, None), &layout, 4, 0);
    let (values, width) = (stack.to_host(), layout.width());
    let alive = [true, false, true, true];
    let mean = stack.mean_row(&alive).to_host();
    let mut square = 0.0;
    for at in 0..width {
        let of = |row: usize| f64::from(values[row * width + at]);
        let expected = (of(0) + of(2) + of(3)) / 3.0;
        assert!((f64::from(mean[at]) - expected).abs() < 1e-6);
        square += [0, 2, 3]
            .iter()
            .map(|row| (of(*row) - expected).powi(2))
            .sum::<f64>();
    }
    assert!((stack.consensus_distance(&alive) - (square / 3.0).sqrt()).abs() < 1e-6);
    assert_eq!(stack.consensus_distance(&[true, false, false, false]), 0.0);
}

#[test]
fn d_sgd_on_quadratics_follows_its_closed_form() {
    // f_i(w) = ‖w − a_i‖²/2: with w <- W(w − η(w − a)), the mean contracts by (1 − η) towards the mean of the a_i.
    let layout = layout(&[5]);
    let device = cpu(1, None);
    let ring = (0..6u32).map(|i| {
        let mut row = vec![
            ((i + 5) % 6, 1.0 / 3.0),
            (i, 1.0 / 3.0),
            ((i + 1) % 6, 1.0 / 3.0),
        ];
        row.sort_by_key(|(column, _)| *column);
        row
    });
    let matrix = MixingMatrix::from_rows(6, ring.collect()).unwrap();
    let mixing = Mixing::new(&matrix);
    let optimum = stack(&device, &layout, 6, 3);
    let (a, width, rate) = (optimum.to_host(), layout.width(), 0.1f32);
    let mut w = Stack::zeros(&device, &layout, 6);
    let rounds = 40;
    for _ in 0..rounds {
        let mut gradient = w.duplicate();
        gradient.add_scaled(&optimum, &[-1.0; 6]).unwrap();
        w.add_scaled(&gradient, &[-rate; 6]).unwrap();
        w.mix(&mixing).unwrap();
    }
    // In the eigenbasis of W: component with eigenvalue λ goes to λη/(1 − λ(1−η)) a, times 1 − (λ(1−η))^t.
    let values = w.to_host();
    for at in 0..5 {
        for node in 0..6 {
            let mut expected = 0.0;
            for k in 0..6 {
                let angle = |i: usize| std::f64::consts::TAU * (k * i) as f64 / 6.0;
                let lambda = (1.0 + 2.0 * angle(1).cos()) / 3.0;
                let (mut real, mut imaginary) = (0.0, 0.0);
                for i in 0..6 {
                    real += f64::from(a[i * width + at]) * angle(i).cos() / 6.0;
                    imaginary -= f64::from(a[i * width + at]) * angle(i).sin() / 6.0;
                }
                let shrink = lambda * 0.9;
                let gain = lambda * 0.1 * (1.0 - shrink.powi(rounds)) / (1.0 - shrink);
                expected += gain * (real * angle(node).cos() - imaginary * angle(node).sin());
            }
            // Forty f32 rounds on numbers below 1.
            assert!((f64::from(values[node * width + at]) - expected).abs() < 2e-6);
        }
    }
}

#[test]
fn quantising_is_unbiased_within_its_variance_bound() {
    expect_unbiased_within_the_bound(&cpu(2, None));
}

#[test]
fn a_zero_vector_stays_zero_when_quantised() {
    let layout = layout(&[9]);
    let mut stack = Stack::zeros(&cpu(1, None), &layout, 2);
    stack.quantize(&Quantiser {
        bits: 8,
        norm: NormScope::Model,
        keys: vec![[1, 2]; 2],
    });
    assert!(stack.to_host().iter().all(|value| *value == 0.0));
}

#[test]
fn rounding_draws_are_uniform() {
    let draws = 20_000;
    let mut bins = [0f64; 20];
    for index in 0..draws {
        bins[(uniform([3, 4], index) * 20.0) as usize] += 1.0;
    }
    let expected = f64::from(draws) / 20.0;
    let chi2: f64 = bins
        .iter()
        .map(|count| (count - expected).powi(2) / expected)
        .sum();
    // The 99.9 % point of χ² with 19 degrees of freedom.
    assert!(chi2 < 43.8, "{chi2}");
}

#[test]
fn row_norms_are_sums_of_squares_in_double_precision() {
    let layout = layout(&[7, 401, 1]);
    let width = layout.width();
    let reference = stack(&cpu(1, None), &layout, 5, 3).squared_row_norms();
    for threads in [1, 2] {
        let stack = stack(&cpu(threads, None), &layout, 5, 3);
        let norms = stack.squared_row_norms();
        assert_eq!(norms, reference);
        for (row, norm) in stack.to_host().chunks_exact(width).zip(norms) {
            let squares = row.iter().map(|w| f64::from(*w) * f64::from(*w));
            // Another order of some hundred additions.
            assert!((norm - squares.sum::<f64>()).abs() < 1e-12);
        }
    }
}

#[test]
fn only_rows_outside_the_ball_are_projected_onto_it() {
    let layout = layout(&[7, 401, 1]);
    let width = layout.width();
    let (first, longest) = (stack(&cpu(1, None), &layout, 5, 3), 11.8f32);
    let norms: Vec<f64> = first
        .squared_row_norms()
        .iter()
        .map(|norm| norm.sqrt())
        .collect();
    let longer = norms.iter().filter(|norm| **norm > f64::from(longest));
    assert!((1..5).contains(&longer.count()), "{norms:?}");
    for threads in [1, 2] {
        let mut projected = stack(&cpu(threads, None), &layout, 5, 3);
        projected.project(longest);
        let (found, before) = (projected.to_host(), first.to_host());
        for (row, norm) in norms.iter().enumerate() {
            let range = row * width..(row + 1) * width;
            if *norm <= f64::from(longest) {
                assert_eq!(found[range.clone()], before[range]);
                continue;
            }
            for (found, before) in found[range.clone()].iter().zip(&before[range]) {
                let oracle = f64::from(*before) * f64::from(longest) / norm;
                assert!(
                    (f64::from(*found) - oracle).abs() < 1e-7,
                    "{found} {oracle}"
                );
            }
        }
        let again = projected.squared_row_norms();
        // The scale is rounded to f32, as each product is.
        let most = f64::from(longest) * (1.0 + 1e-6);
        assert!(again.iter().all(|norm| norm.sqrt() <= most), "{again:?}");
    }
}
