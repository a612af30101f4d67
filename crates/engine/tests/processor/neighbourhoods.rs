//! The verbs over lists of rows against host loops, and over ranks.

use crate::support::cpu;
use crate::verbs::{layout, stack};
use meshfold_engine::{Device, DeviceRequest, EngineError, Ranks, RowLists};
use std::thread;

#[test]
fn verbs_over_lists_of_rows_are_those_of_a_host_loop_whatever_the_ranks() {
    let layout = layout(&[7, 401, 1]);
    let width = layout.width();
    let edges = [(4, 1), (0, 0), (1, 1), (2, 0), (2, 1), (3, 0), (2, 1)];
    let (lists, weights) = (
        RowLists::of_edges(&edges, 2),
        [1.0, 2.0, -0.5, 0.25, 3.0, 1.5, 0.1],
    );
    let pairs = [(0, 0), (4, 2), (1, 2)];
    let verbs = |device: &Device| {
        let (models, others) = (stack(device, &layout, 5, 3), stack(device, &layout, 3, 9));
        let sums = models.weighted_sums(&lists, &weights).unwrap();
        let medians = models.medians(&lists).unwrap();
        let trimmed = models.trimmed_means(&lists, &[0, 1]).unwrap();
        let deviations = models.deviations(&lists).unwrap();
        let all = [sums, medians, trimmed, deviations];
        let distances = models.squared_pair_distances(&others, &pairs).unwrap();
        assert!(all.iter().all(|stack| stack.rows() == 2));
        (all.map(|stack| stack.to_host()), distances)
    };
    let (found, distances) = verbs(&cpu(2, None));
    let (models, others) = (
        stack(&cpu(1, None), &layout, 5, 3),
        stack(&cpu(1, None), &layout, 3, 9),
    );
    let (models, others) = (models.to_host(), others.to_host());
    for row in 0..2u32 {
        for at in 0..width {
            let of_row = |row: u32| f64::from(models[row as usize * width + at]);
            let places = (0..edges.len()).filter(|place| edges[*place].1 == row);
            let sum = places
                .clone()
                .map(|place| f64::from(weights[place]) * of_row(edges[place].0));
            let mut sorted: Vec<f64> = places.map(|place| of_row(edges[place].0)).collect();
            sorted.sort_by(f64::total_cmp);
            let count = sorted.len();
            let median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
            let kept = &sorted[row as usize..count - row as usize];
            let trimmed = kept.iter().sum::<f64>() / kept.len() as f64;
            let mean = sorted.iter().sum::<f64>() / count as f64;
            let squares = sorted
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>();
            let deviation = (squares / (count - 1) as f64).sqrt();
            let wanted = [sum.sum(), median, trimmed, deviation];
            for (found, wanted) in found.iter().zip(wanted) {
                let found = f64::from(found[row as usize * width + at]);
                assert!(
                    (found - wanted).abs() < 1e-6,
                    "{row} {at}: {found} {wanted}"
                );
            }
        }
    }
    for ((a, b), found) in pairs.iter().zip(&distances) {
        let [a, b] =
            [(&models, a), (&others, b)].map(|(rows, row)| &rows[*row as usize * width..][..width]);
        let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
        let wanted: f64 = a.iter().zip(b).map(square).sum();
        assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
    }
    for ranks in [1, 3] {
        let of_rank = |ranks| {
            let device = Device::over_ranks(ranks, DeviceRequest::Cpu, Some(1), None).unwrap();
            verbs(&device)
        };
        thread::scope(|scope| {
            let ranks = Ranks::in_process(ranks).into_iter();
            let threads: Vec<_> = ranks.map(|rank| scope.spawn(|| of_rank(rank))).collect();
            for thread in threads {
                assert!(thread.join().unwrap() == (found.clone(), distances.clone()));
            }
        });
    }
}

#[test]
fn lists_that_do_not_fit_are_refused() {
    let layout = layout(&[5]);
    let models = stack(&cpu(1, None), &layout, 3, 1);
    let lists = RowLists::of_edges(&[(0, 0), (2, 0)], 1);
    let beyond = RowLists::of_edges(&[(3, 0)], 1);
    assert_eq!(
        models.trimmed_means(&lists, &[1]).unwrap_err().to_string(),
        "trimmed_means: row 0 is made of 2 rows, of which 1 are left out at each end, needed at least 3"
    );
    let empty = RowLists::of_edges(&[(0, 1)], 2);
    assert_eq!(
        models.medians(&empty).unwrap_err().to_string(),
        "medians: row 0 is made of 0 rows, needed at least one"
    );
    for refused in [
        models.trimmed_means(&lists, &[0, 0]).unwrap_err(),
        models.weighted_sums(&lists, &[1.0]).unwrap_err(),
        models.weighted_sums(&beyond, &[1.0]).unwrap_err(),
        models.deviations(&beyond).unwrap_err(),
        models
            .squared_pair_distances(&models, &[(0, 3)])
            .unwrap_err(),
    ] {
        assert!(
            matches!(
                refused,
                EngineError::RowCount { .. } | EngineError::RowIndex { .. }
            ),
            "{refused}"
        );
    }
}

#[test]
fn parameters_without_padding_are_the_layers_one_after_another() {
    let layout = layout(&[7, 401, 1]);
    let models = stack(&cpu(1, None), &layout, 3, 2);
    let packed: Vec<f32> = models
        .to_host()
        .chunks_exact(layout.width())
        .flat_map(|row| layout.pack(row))
        .collect();
    assert_eq!(models.unpadded(), packed);
}
