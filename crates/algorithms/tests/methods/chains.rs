//! What DFedRW's theory takes for granted: where walks go, and how far off quantised models are.

use crate::support::{Scene, full, run};
use meshfold_algorithms::{Aggregators, Exchange, Phase, Restart, Source, Traffic, WalkRows};
use meshfold_engine::{Device, Layout, NormScope, Quantiser, Stack};
use meshfold_topology::Overlay;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// A star with one further edge; with their self-loops the nodes have degrees 5, 3, 3, 2, 2.
fn star() -> Overlay {
    Overlay::from_edges(5, [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2)]).unwrap()
}

const DEGREES: [f64; 5] = [5.0, 3.0, 3.0, 2.0, 2.0];

/// Clients that a single walker visited, in order.
fn visits(traffic: &[Traffic]) -> Vec<usize> {
    let visited = |phase: &Phase| match phase {
        Phase::Visits { clients, .. } => Some(clients[0] as usize),
        Phase::Compute { .. } | Phase::Exchange(_) => None,
    };
    let phases = traffic.iter().flat_map(|traffic| traffic.phases());
    phases.filter_map(visited).collect()
}

/// 15,000 visits of one walk.
fn long_walk() -> Vec<usize> {
    let method = method!(
        Dfedrw {
            walkers: 1,
            hops: 100,
            restart: Restart::Continue,
            aggregators: Aggregators::WalkEnds,
            from: Source::WalkEnds,
            neighbours: None,
            include_self: true,
            rows: WalkRows::Walkers,
            projection: None,
            quantise: None
        },
        full(1)
    );
    let course = run(&method, &Scene::over(star()), 150);
    let moves = |traffic: &Traffic| -> usize {
        let count = |phase: &Phase| match phase {
            Phase::Exchange(Exchange::Messages(messages)) => messages.len(),
            _ => 0,
        };
        traffic.phases().iter().map(count).sum()
    };
    let visits = visits(&course.traffic);
    let changes = |visits: &[usize]| visits.windows(2).filter(|pair| pair[0] != pair[1]).count();
    // What moves is sent, and so may be the model of a walk that has ended; nothing else is.
    for (visits, traffic) in visits.chunks(100).zip(&course.traffic) {
        let onwards = moves(traffic) - changes(visits);
        assert!(onwards <= 1, "{onwards}");
    }
    visits
}

#[test]
fn walks_follow_the_transition_matrix_and_are_everywhere_alike() {
    let visits = long_walk();
    assert_eq!(visits.len(), 15_000);
    // Within a round: from the last visit of a round to the first of the next a walk stays.
    let mut moves = [[0.0; 5]; 5];
    for round in visits.chunks(100) {
        for pair in round.windows(2) {
            moves[pair[0]][pair[1]] += 1.0;
        }
    }
    let (mut statistic, mut freedom) = (0.0, 0);
    for (from, moves) in moves.iter().enumerate() {
        let all: f64 = moves.iter().sum();
        let overlay = star();
        let mut stays = 1.0;
        let mut judge = |to: usize, probability: f64| {
            statistic += (moves[to] - all * probability).powi(2) / (all * probability);
            freedom += 1;
        };
        for to in overlay.neighbours(from) {
            let to = *to as usize;
            // (7): the candidate is drawn uniformly and accepted with min(1, deg i / deg j).
            let probability = f64::min(1.0, DEGREES[from] / DEGREES[to]) / DEGREES[from];
            stays -= probability;
            judge(to, probability);
        }
        judge(from, stays);
        freedom -= 1;
    }
    // The 99.9th percentile of χ² with ten degrees of freedom.
    assert_eq!(freedom, 10);
    assert!(statistic < 29.6, "χ² = {statistic}");

    // The slowest mode of the star falls by 0.8 a step, so that visits 25 steps apart are independent within 0.4 %.
    let mut counts = [0.0; 5];
    visits
        .iter()
        .step_by(25)
        .for_each(|client| counts[*client] += 1.0);
    let expected = 600.0 / 5.0;
    let statistic: f64 = counts
        .iter()
        .map(|count: &f64| (count - expected).powi(2) / expected)
        .sum();
    // The 99.9th percentile with four degrees of freedom; by degrees, (5, 3, 3, 2, 2)/15, it would be about 80.
    assert!(statistic < 18.5, "χ² = {statistic} of {counts:?}");
}

#[test]
fn quantised_models_keep_lemma_3() {
    let mut layout = Layout::default();
    layout.push("weight", 9, 11);
    let layout = Arc::new(layout);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut row = vec![0.0f32; layout.width()];
    row[..99]
        .iter_mut()
        .for_each(|w| *w = rng.random_range(-1.0..1.0));
    let norm = row.iter().map(|w| f64::from(*w).powi(2)).sum::<f64>();
    for bits in [2, 4, 8] {
        let draws = 3000;
        let device = Device::cpu().unwrap();
        let mut stack = Stack::from_host(&device, &layout, row.repeat(draws)).unwrap();
        stack.quantize(&Quantiser {
            bits,
            norm: NormScope::Model,
            keys: (0..draws as u32).map(|draw| [draw, 5]).collect(),
        });
        let error = |(q, w): (&f32, &f32)| f64::from(q - w).powi(2);
        let errors = stack.to_host();
        let rows = errors.chunks(row.len());
        let variance = rows
            .map(|q| q.iter().zip(&row).map(error).sum::<f64>())
            .sum::<f64>()
            / draws as f64;
        let interval = 1.0 / f64::from((1 << (bits - 1)) - 1);
        let bound = norm * 99.0 * interval.powi(2) / 4.0;
        assert!(variance <= bound, "{bits} bits: {variance} above {bound}");
        // What (12) says exactly: s²‖w‖² Φ (1 − Φ) for each parameter.
        let exact: f64 = row
            .iter()
            .map(|w| (f64::from(w.abs()) / norm.sqrt() / interval).fract())
            .map(|above| norm * interval.powi(2) * above * (1.0 - above))
            .sum();
        // The mean of 3000 sums of 99 independent terms deviates by less than half a percent.
        assert!(
            (variance / exact - 1.0).abs() < 0.02,
            "{bits} bits: {variance} for {exact}"
        );
    }
}
