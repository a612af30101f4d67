//! `cargo run --bin seeds`: writes the files that the fuzz targets begin with into `corpus`.

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let count = meshfold_data::fuzzing::seeds::write(&corpus)?;
    println!("{count} seeds in {}", corpus.display());
    Ok(())
}
