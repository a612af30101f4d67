//! Plans by published figures need no memory of the size of the data. Alone in its file: it looks at its process's peak.
#![allow(clippy::unwrap_used)]

use std::fs;

use meshfold_data::{ByUser, DatasetConfig, Partitioner};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The most memory that this process has held, where the system tells.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}

#[test]
fn all_windows_of_reddit_are_dealt_to_their_authors_within_a_quarter_of_a_gibibyte() {
    let dataset: DatasetConfig = serde_json::from_str(r#"{"reddit": {}}"#).unwrap();
    let published = dataset.published().unwrap().unwrap().summary;
    assert_eq!(published.train(), 83_293 * 150 * 31);
    let everybody = Partitioner::ByUser(ByUser { clients: None });
    let hundred = Partitioner::ByUser(ByUser { clients: Some(100) });
    for (way, clients, fewest) in [(everybody, 83_293, 4650), (hundred, 100, 4650 * 832)] {
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let partition = way.split(published.labelled(false), rng).unwrap();
        let sizes = partition.sizes();
        assert_eq!(sizes.len(), clients);
        assert_eq!(sizes.iter().sum::<usize>(), published.train());
        let first = partition.first(1).unwrap() as usize;
        assert_eq!(first % 4650, 0, "examples of an author follow one another");
        assert_eq!(usize::from(published.label(first)), first % 50_000);
        assert_eq!(sizes.iter().min(), Some(&fewest));
    }
    if let Some(bytes) = peak_bytes() {
        assert!(bytes < 1 << 28, "{bytes} bytes");
    }
}
