//! Times the fastest weights of random overlays: `cargo run --release -p meshfold-topology --example fastest_weights --
//! 100 0.5` takes Erdős–Rényi overlays of 100 nodes with p = 0.5; `100 regular 3` takes 3-regular ones.

use meshfold_topology::{ErdosRenyi, Fastest, Probability, Regular, Spectrum, Topology, Weights};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (nodes, topology) = match arguments[..] {
        [nodes, "regular", degree] => {
            let degree = degree.parse()?;
            (nodes.parse()?, Topology::Regular(Regular { degree }))
        }
        [nodes, p] => {
            let p = Probability::Fixed(p.parse()?);
            (nodes.parse()?, Topology::ErdosRenyi(ErdosRenyi { p }))
        }
        _ => (100, Topology::Regular(Regular { degree: 3 })),
    };
    let overlay = topology.build(nodes, &mut ChaCha8Rng::seed_from_u64(1))?;
    println!(
        "{} of {nodes}: {} edges",
        topology.label(),
        overlay.edge_count()
    );
    for weights in [
        Weights::default(),
        Weights::Fastest(Fastest::default()),
        Weights::Fastest(Fastest { nonnegative: false }),
    ] {
        let clock = Instant::now();
        let matrix = weights.matrix(&overlay)?;
        let seconds = clock.elapsed().as_secs_f64();
        let lambda = Spectrum::of(&overlay, &weights, &matrix)?.lambda;
        println!("{:<26} lambda {lambda:.6} {seconds:9.3} s", weights.label());
    }
    Ok(())
}
