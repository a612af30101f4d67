//! Instruction sets with bfloat16 products, compared with those without.

#![allow(clippy::unwrap_used)]

mod support;

use std::process::ExitCode;

use meshfold_engine::{Amount, Instructions, Precision, Split, Start, Velocity};
use meshfold_test_needs::test;
use support::*;

fn main() -> ExitCode {
    let [avx512, instruction, tiles] = ["avx512", "avx512-bf16", "amx-bf16"].map(why_not);
    meshfold_test_needs::run(vec![
        test!(an_instruction_computes_what_is_emulated_without_it).unless(instruction.as_deref()),
        test!(emulation_is_a_kind_of_its_own).unless(avx512.as_deref()),
        test!(single_precision_is_the_same_with_the_instruction).unless(instruction.as_deref()),
        test!(single_precision_is_the_same_with_tiles).unless(tiles.as_deref()),
    ])
}

/// Why the set `name` cannot be used, if so.
fn why_not(name: &str) -> Option<String> {
    let mut available = Instructions::available().into_iter();
    let is_there = available.any(|set| set.to_string() == name);
    (!is_there).then(|| format!("no {name}"))
}

fn set(name: &str) -> Instructions {
    name.parse().unwrap()
}

/// A row after some steps of training and what judging it gives.
fn trained(case: &Case, set: Instructions) -> Vec<u32> {
    let mut learner = case.learner(&cpu(1, Some(set)), &[13, 9]);
    let mut stack = learner.initial(2, Start::Same).unwrap();
    let rows = rows(&[Amount::Steps(5), Amount::Steps(3)]);
    let rule = sgd(4, 0.9);
    learner
        .train(&mut stack, Velocity::Fresh, &work(1, &rows, &rule))
        .unwrap();
    let scores = learner.evaluate(&stack, Split::Test, None).unwrap();
    let losses = scores.iter().map(|score| (score.loss as f32).to_bits());
    let values = stack.to_host();
    values.iter().map(|w| w.to_bits()).chain(losses).collect()
}

fn an_instruction_computes_what_is_emulated_without_it() {
    for case in [dense(), convolutional(), recurrent()].concat() {
        let case = case.in_bf16();
        let [instruction, emulation] =
            ["avx512-bf16", "avx512"].map(|name| trained(&case, set(name)));
        assert!(instruction == emulation, "{case:?}");
    }
}

fn emulation_is_a_kind_of_its_own() {
    let device = cpu(1, Some(set("avx512")));
    assert_eq!(device.kind_in(Precision::F32), "cpu/avx512");
    assert_eq!(device.kind_in(Precision::Bf16), "cpu/avx512+bf16");
}

fn single_precision_is_the_same_with_the_instruction() {
    assert_single_precision_is_that_of_avx512("avx512-bf16");
}

fn single_precision_is_the_same_with_tiles() {
    assert_single_precision_is_that_of_avx512("amx-bf16");
}

fn assert_single_precision_is_that_of_avx512(name: &str) {
    let case = Case::of_pixels(mlp(), CLASSES);
    assert!(trained(&case, set(name)) == trained(&case, set("avx512")));
    let device = cpu(1, Some(set(name)));
    assert_eq!(device.kind_in(Precision::F32), "cpu/avx512");
    assert_eq!(device.kind_in(Precision::Bf16), format!("cpu/{name}"));
}
