//! The verbs on stacks: the GPU against the processor.

use crate::support::gpu;
use crate::support::quantising::expect_unbiased_within_the_bound;
use meshfold_engine::{Device, Layout, Mixing, MomentumRule, NormScope, Quantiser, Stack};
use meshfold_topology::MixingMatrix;
use std::sync::Arc;

fn stack(device: &Device, rows: usize, seed: u32) -> Stack {
    let mut layout = Layout::default();
    layout.push("weight", 23, 11);
    layout.push("bias", 1, 11);
    let mut values = vec![0.0; rows * layout.width()];
    for (row, values) in (0..).zip(values.chunks_exact_mut(layout.width())) {
        for at in layout.blocks().iter().flat_map(|block| block.range()) {
            values[at] = meshfold_engine::uniform([seed, row], at as u32) - 0.5;
        }
    }
    Stack::from_host(device, &Arc::new(layout), values).unwrap()
}

/// Runs `verbs` on both devices and compares what they return.
fn compare(verbs: impl Fn(&Device) -> Vec<f32>) {
    let gpu = gpu();
    let (found, oracle) = (verbs(&gpu), verbs(&Device::cpu().unwrap()));
    assert_eq!(found.len(), oracle.len());
    for (index, (found, oracle)) in found.iter().zip(&oracle).enumerate() {
        assert!(
            (found - oracle).abs() < 1e-6,
            "value {index}: gpu {found}, cpu {oracle}"
        );
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn mixing_twice_over_a_ring_agrees() {
    compare(|device| {
        let row = |i: u32| {
            let mut row = vec![(i, 0.5), ((i + 1) % 9, 0.25), ((i + 8) % 9, 0.25)];
            row.sort_by_key(|entry| entry.0);
            row
        };
        let matrix = Mixing::new(&MixingMatrix::from_rows(9, (0..9).map(row).collect()).unwrap());
        let mut models = stack(device, 9, 1);
        models.mix(&matrix).unwrap();
        models.mix(&matrix).unwrap();
        models.to_host()
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_node_alone_keeps_its_model_and_an_average_reaches_all() {
    compare(|device| {
        let rows = vec![
            vec![(0, 1.0)],
            vec![(1, 0.5), (2, 0.5)],
            vec![(1, 0.5), (2, 0.5)],
        ];
        let mut models = stack(device, 3, 2);
        models
            .mix(&Mixing::new(&MixingMatrix::from_rows(3, rows).unwrap()))
            .unwrap();
        let alone = models.to_host();
        models
            .mix(&Mixing::new(
                &MixingMatrix::average(3, vec![0.2, 0.3, 0.5]).unwrap(),
            ))
            .unwrap();
        let mut some = stack(device, 4, 2);
        let among = MixingMatrix::average_among(vec![0.0, 0.5, 0.0, 0.5]).unwrap();
        some.mix(&Mixing::new(&among)).unwrap();
        [alone, models.to_host(), some.to_host()].concat()
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_view_taken_before_mixing_keeps_its_values() {
    let gpu = gpu();
    let mut models = stack(&gpu, 2, 3);
    let before = models.to_host();
    let view = models.tensor();
    let matrix = Mixing::new(&MixingMatrix::average(2, vec![0.5, 0.5]).unwrap());
    for _ in 0..3 {
        models.mix(&matrix).unwrap();
    }
    assert_eq!(view.into_data().try_to_vec::<f32>().unwrap(), before);
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn rows_go_and_come_back() {
    compare(|device| {
        let mut models = stack(device, 6, 4);
        let walkers = models.gather(&[5, 1, 5]).unwrap();
        let mut copy = walkers.duplicate();
        copy.add_scaled(&walkers, &[0.5, -1.0, 2.0]).unwrap();
        copy.scale_rows(&[2.0, 1.0, 0.25]).unwrap();
        models.scatter(&[0, 3, 4], &copy).unwrap();
        [models.to_host(), walkers.to_host()].concat()
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn steps_with_momentum_agree() {
    compare(|device| {
        let (mut models, mut velocity) = (stack(device, 4, 5), stack(device, 4, 6));
        let gradients = stack(device, 4, 7);
        for _ in 0..3 {
            let steps = [([0.1, 0.0, 0.2, 0.3], false), ([0.2, 0.1, 0.0, 0.3], true)];
            for (rates, nesterov) in steps {
                let rule = MomentumRule {
                    rates: &rates,
                    momentum: 0.9,
                    nesterov,
                };
                let stepped = models.momentum_step(&mut velocity, &gradients, rule);
                stepped.unwrap();
            }
        }
        [models.to_host(), velocity.to_host()].concat()
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn means_and_distances_agree() {
    compare(|device| {
        let models = stack(device, 7, 8);
        let alive = [true, true, false, true, true, false, true];
        let mut values = models.mean_row(&alive).to_host();
        values.push(models.consensus_distance(&alive) as f32);
        values.extend(
            models
                .squared_row_norms()
                .iter()
                .map(|norm| (*norm * 0.01) as f32),
        );
        values
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn projections_onto_a_ball_agree() {
    for radius in [0.5, 4.6, 100.0] {
        compare(|device| {
            let mut models = stack(device, 7, 8);
            models.project(radius);
            models.to_host()
        });
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn quantised_models_agree() {
    for norm in [NormScope::Model, NormScope::Layer] {
        let gpu = gpu();
        let quantised = |device: &Device| {
            let mut models = stack(device, 5, 9);
            models.quantize(&Quantiser {
                bits: 8,
                norm,
                keys: (0..5).map(|row| [9, row]).collect(),
            });
            models.to_host()
        };
        let (found, oracle) = (quantised(&gpu), quantised(&Device::cpu().unwrap()));
        // Norms may differ in the last bit, and then a value near a boundary rounds the other way.
        let apart = found
            .iter()
            .zip(&oracle)
            .filter(|(a, b)| (**a - **b).abs() > 1e-5)
            .count();
        assert!(apart <= 2, "{apart} of {} values differ", oracle.len());
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn the_largest_parameters_agree() {
    compare(|device| {
        let kept = [1, 7, 200, 264, 1000].map(|count| {
            let mut models = stack(device, 5, 11);
            models.keep_largest(count);
            models.to_host()
        });
        let left = |values: &Vec<f32>| values.iter().filter(|value| **value != 0.0).count();
        assert_eq!(kept.each_ref().map(left), [5, 35, 1000, 1320, 1320]);
        kept.concat()
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn quantising_is_unbiased_within_its_variance_bound() {
    expect_unbiased_within_the_bound(&gpu());
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn clearing_sets_everything_to_zero() {
    compare(|device| {
        let mut models = stack(device, 3, 10);
        models.clear();
        models.to_host()
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn stacks_of_a_processor_and_of_a_gpu_are_not_combined() {
    let gpu = gpu();
    let cpu = Device::cpu().unwrap();
    for (device, other) in [(&gpu, &cpu), (&cpu, &gpu)] {
        let (mut models, other) = (stack(device, 3, 1), stack(other, 3, 2));
        let before = models.to_host();
        for (verb, error) in [
            ("add_scaled", models.add_scaled(&other, &[1.0; 3])),
            ("scatter", models.scatter(&[0, 1, 2], &other)),
        ] {
            let said = error.unwrap_err().to_string();
            let expected = format!("{verb}: one stack is on a processor and the other on a GPU");
            assert_eq!(said, expected);
        }
        assert_eq!(models.to_host(), before);
    }
}
