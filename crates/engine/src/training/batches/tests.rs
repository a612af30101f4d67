//! What rows draw, and where they stand after it.

use super::*;
use crate::training::schedule::LearningRate;

fn sgd(batch: u32, draw: Draw) -> Sgd {
    Sgd {
        learning_rate: LearningRate::Constant(0.1),
        momentum: 0.0,
        nesterov: false,
        weight_decay: 0.0,
        clip_norm: None,
        batch_size: BatchSize::Size(batch),
        draw,
    }
}

const KEY: RowKey = RowKey { seed: 3, row: 1 };

/// The batches of `amount` on the shard of client 0.
fn draw(pass: &mut ShardPass, shard: &[u32], sgd: &Sgd, amount: Amount) -> Vec<Vec<u32>> {
    draw_of(pass, RowWork { client: 0, amount }, shard, sgd)
}

fn draw_of(pass: &mut ShardPass, work: RowWork, shard: &[u32], sgd: &Sgd) -> Vec<Vec<u32>> {
    let call = RowCall {
        work,
        shard,
        rounds: 0,
    };
    let mut batches = Batches::new(pass, call, sgd, KEY);
    let (mut all, mut indices) = (Vec::new(), Vec::new());
    while batches.next(&mut indices).is_some() {
        all.push(indices.clone());
    }
    all
}

#[test]
fn an_epoch_sees_every_example_once_and_ends_short() {
    let shard: Vec<u32> = (100..123).collect();
    let mut pass = ShardPass::default();
    let batches = draw(
        &mut pass,
        &shard,
        &sgd(5, Draw::Shuffled),
        Amount::Epochs(2),
    );
    assert_eq!(
        batches.iter().map(Vec::len).collect::<Vec<_>>(),
        [5, 5, 5, 5, 3, 5, 5, 5, 5, 3]
    );
    for epoch in batches.chunks(5) {
        let mut seen = epoch.concat();
        seen.sort_unstable();
        assert_eq!(seen, shard);
    }
    assert_ne!(batches[0], batches[5]);
    assert_eq!(pass.position.epochs, 2);
}

#[test]
fn examples_are_counted_as_they_are_drawn() {
    let shard: Vec<u32> = (0..10).collect();
    for draws in [Draw::Shuffled, Draw::WithReplacement] {
        let rule = sgd(4, draws);
        let mut pass = ShardPass::default();
        for amount in [1, 2, 5, 1, 7]
            .map(Amount::Steps)
            .into_iter()
            .chain([Amount::Epochs(2)])
        {
            let row = RowWork { client: 0, amount };
            let steps = rule.steps_on(amount, shard.len());
            let foretold = pass.position().examples_of(&row, steps, &rule, shard.len());
            let drawn = draw(&mut pass, &shard, &rule, amount);
            assert_eq!(foretold as usize, drawn.concat().len(), "{amount:?}");
        }
    }
}

#[test]
fn steps_go_on_through_the_pass_over_rounds() {
    let shard: Vec<u32> = (0..10).collect();
    let rule = sgd(4, Draw::Shuffled);
    let mut pass = ShardPass::default();
    let mut seen: Vec<u32> = (0..3)
        .flat_map(|_| draw(&mut pass, &shard, &rule, Amount::Steps(1)).concat())
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, shard);
}

#[test]
fn a_resumed_pass_draws_what_the_first_would_have() {
    let shard: Vec<u32> = (0..50).collect();
    let rule = sgd(4, Draw::Shuffled);
    let mut pass = ShardPass::default();
    draw(&mut pass, &shard, &rule, Amount::Steps(5));
    let mut resumed = ShardPass::at(pass.position()).redrawn(KEY, |_| shard.clone());
    assert_eq!(
        draw(&mut pass, &shard, &rule, Amount::Steps(20)),
        draw(&mut resumed, &shard, &rule, Amount::Steps(20))
    );
}

#[test]
fn draws_with_replacement_stay_in_the_shard_and_differ_between_calls() {
    let shard: Vec<u32> = (40..90).collect();
    let rule = sgd(13, Draw::WithReplacement);
    let mut pass = ShardPass::default();
    let first = draw(&mut pass, &shard, &rule, Amount::Steps(2));
    let second = draw(&mut pass, &shard, &rule, Amount::Steps(2));
    assert!(
        first
            .iter()
            .chain(&second)
            .flatten()
            .all(|index| shard.contains(index))
    );
    assert_ne!(first, second);
}

#[test]
fn an_idle_row_draws_nothing_and_keeps_its_place() {
    let shard: Vec<u32> = (0..10).collect();
    let rule = sgd(4, Draw::Shuffled);
    let mut pass = ShardPass::default();
    draw(&mut pass, &shard, &rule, Amount::Steps(1));
    let before = pass.position();
    assert!(draw(&mut pass, &shard, &rule, Amount::Idle).is_empty());
    assert_eq!(pass.position(), before);
}

#[test]
fn a_shard_smaller_than_the_batch_is_one_batch() {
    let mut pass = ShardPass::default();
    assert_eq!(
        draw(
            &mut pass,
            &[7, 9],
            &sgd(5, Draw::Shuffled),
            Amount::Epochs(1)
        ),
        [[7, 9]]
    );
}

#[test]
fn a_row_that_was_skipped_draws_what_it_would_have_drawn() {
    let shards: [Vec<u32>; 2] = [(0..10).collect(), (20..27).collect()];
    let sizes = [BatchSize::Full, BatchSize::Size(4), BatchSize::Size(7)];
    let draws = [Draw::Shuffled, Draw::WithReplacement];
    let tasks = [(0, 1), (0, 2), (1, 3), (1, 1), (0, 5), (0, 9), (1, 1)];
    let steps = tasks.map(|(client, steps)| (client, Amount::Steps(steps)));
    let epochs = [(0, Amount::Epochs(2)), (1, Amount::Epochs(1))];
    let idle = [(1, Amount::Idle)];
    for (batch_size, rule) in sizes
        .iter()
        .flat_map(|size| draws.map(|draw| (*size, draw)))
    {
        let sgd = Sgd {
            batch_size,
            ..sgd(1, rule)
        };
        let (mut drawn, mut skipped) = (ShardPass::default(), ShardPass::default());
        let all = steps.iter().chain(&epochs).chain(&idle).chain(&steps);
        for (index, (client, amount)) in all.enumerate() {
            let work = RowWork {
                client: *client,
                amount: *amount,
            };
            let shard = &shards[*client as usize];
            let expected = draw_of(&mut drawn, work, shard, &sgd);
            if index % 3 == 2 {
                skipped.redraw(KEY, |client| shards[client as usize].clone());
                assert_eq!(draw_of(&mut skipped, work, shard, &sgd), expected);
            } else {
                skipped.skip(&work, &sgd, shard.len());
            }
            assert_eq!(skipped.position(), drawn.position(), "{work:?} {sgd:?}");
        }
    }
}
