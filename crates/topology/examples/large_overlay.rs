//! Times a large random overlay: `cargo run --release -p meshfold-topology --example large_overlay -- 100000 20`.

use meshfold_topology::{OverlaySummary, Regular, Topology, Weights};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let nodes = arguments.next().map_or(Ok(100_000), |text| text.parse())?;
    let degree = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let mut clock = Instant::now();
    let mut lap = |what: &str| {
        println!("{what:<20} {:8.3} s", clock.elapsed().as_secs_f64());
        clock = Instant::now();
    };
    let topology = Topology::Regular(Regular { degree });
    let overlay = topology.build(nodes, &mut ChaCha8Rng::seed_from_u64(1))?;
    lap("build");
    let connected = overlay.is_connected();
    lap("components");
    let connectivity = overlay.edge_connectivity();
    lap("edge connectivity");
    let weights = Weights::default();
    let matrix = weights.matrix(&overlay)?;
    lap("weights");
    let (summary, _) = OverlaySummary::new(&overlay, &weights, &matrix)?;
    lap("summary");
    println!(
        "{} edges, connected {connected}, edge connectivity {connectivity}",
        overlay.edge_count()
    );
    println!("{summary:#?}");
    Ok(())
}
