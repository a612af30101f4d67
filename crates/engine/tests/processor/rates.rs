//! Where a schedule stands when local steps of a round are asked for one by one.

use crate::support::*;
use meshfold_engine::{
    Amount, InverseTime, LearningRate, MomentumRule, Per, Restart, Schedule, Sgd, Stack, Velocity,
};

const SIZES: [usize; 4] = [23, 8, 3, 16];

fn rule(per: Per, restart: Restart) -> Sgd {
    Sgd {
        learning_rate: LearningRate::Schedule(Schedule::InverseTime(InverseTime {
            initial: 0.1,
            scale: 1.0,
            per,
            restart,
            warmup: 0.0,
        })),
        ..sgd(5, 0.0)
    }
}

/// Three rounds of six steps of each row, in calls of as many steps as `calls` says; 0 stands for a step along a gradient.
fn trained(calls: &[u32], rule: &Sgd) -> Vec<f32> {
    let mut learner = learner(&cpu(2, None), &mlp(), &SIZES);
    let mut stack = learner
        .initial(4, meshfold_engine::Start::Independent)
        .unwrap();
    for round in 1..=3 {
        for steps in calls {
            let rows = rows(&[Amount::Steps((*steps).max(1)); 4]);
            let work = work(round, &rows, rule);
            if *steps > 0 {
                learner.train(&mut stack, Velocity::Fresh, &work).unwrap();
                continue;
            }
            let rates = learner.rates(&work).unwrap();
            let gradients: Stack = learner.gradients(&stack, &work).unwrap();
            let mut velocity = Stack::zeros(stack.device(), stack.layout(), 4);
            let rule = MomentumRule {
                rates: &rates,
                momentum: 0.0,
                nesterov: false,
            };
            let stepped = stack.momentum_step(&mut velocity, &gradients, rule);
            stepped.unwrap();
        }
    }
    stack.to_host()
}

#[test]
fn a_schedule_that_restarts_in_each_round_goes_on_from_call_to_call_within_it() {
    for per in [Per::Step, Per::Epoch] {
        for restart in [Restart::Round, Restart::Never] {
            let rule = rule(per, restart);
            let at_once = trained(&[6], &rule);
            for calls in [&[2, 4][..], &[1; 6], &[0; 6], &[3, 0, 0, 1]] {
                let found = trained(calls, &rule);
                let off = at_once.iter().zip(&found);
                let off = off
                    .map(|(one, other)| (one - other).abs())
                    .fold(0.0, f32::max);
                assert!(off < 2e-6, "{per:?} {restart:?} {calls:?}: {off}");
            }
        }
    }
    let constant = rule(Per::Round, Restart::Never);
    let restarted = rule(Per::Step, Restart::Round);
    assert_ne!(trained(&[0; 6], &constant), trained(&[0; 6], &restarted));
}
