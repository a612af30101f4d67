//! Random streams, keyed by what they are for, so that no draw depends on the order of work.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// What a stream is drawn for. Each purpose has its own streams: a new draw in one moves nothing in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Initial weights, one stream per layer.
    Initialisation = 1,
    /// Mini-batches, one stream per row and pass or round.
    Batches = 2,
    /// The overlay of a run.
    Overlay = 3,
    /// Who holds which example.
    Partition = 4,
    /// Which clients take part in a round.
    Participation = 5,
    /// Rounding of the quantiser, per row.
    Quantisation = 6,
    /// Which test examples are judged when not all are.
    Evaluation = 7,
    /// Which client or edge fails.
    Failure = 8,
    /// Steps of a random walk.
    Walk = 9,
    /// Which participants fall behind in a round.
    Stragglers = 10,
    /// Which models a client averages.
    Aggregation = 11,
    /// Which clients belong to which server.
    Assignment = 12,
    /// Weights of a mixing matrix that are drawn.
    Weights = 13,
    /// Capacities of the simulated network and speeds of the clients.
    Network = 20,
    /// Hidden units that a training step leaves out, per row and step.
    Dropout = 14,
    /// How the images of a batch are augmented, per row and step.
    Augmentation = 15,
}

/// Coordinates of one stream beneath a seed and a purpose; unused ones stay zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Key {
    /// Communication round, 1-based; 0 before the first.
    pub round: u64,
    /// Row within the run.
    pub row: u32,
    /// Local step, pass or visit.
    pub step: u32,
    /// Layer of the model.
    pub layer: u32,
}

/// The stream of `purpose` at `key` under `seed`: ChaCha with eight rounds, its key being the coordinates themselves.
pub fn stream(seed: u64, purpose: Purpose, key: Key) -> ChaCha8Rng {
    let mut bytes = [0u8; 32];
    bytes[0..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&key.round.to_le_bytes());
    bytes[16..20].copy_from_slice(&key.row.to_le_bytes());
    bytes[20..24].copy_from_slice(&key.step.to_le_bytes());
    bytes[24..28].copy_from_slice(&key.layer.to_le_bytes());
    bytes[28..32].copy_from_slice(&(purpose as u32).to_le_bytes());
    ChaCha8Rng::from_seed(bytes)
}

/// Threefry-2x32 with 20 rounds: 64 random bits of counter `counter` under `key`.
///
/// Plain 32-bit arithmetic, so that a kernel computes the same bits on every device.
///
/// # Source
/// Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011), section 4.2.
#[inline(always)]
pub fn threefry(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let parity = [key[0], key[1], 0x1BD1_1BDA ^ key[0] ^ key[1]];
    let mut x = [
        counter[0].wrapping_add(key[0]),
        counter[1].wrapping_add(key[1]),
    ];
    for block in 0..5u32 {
        for rotation in ROTATIONS[block as usize % 2] {
            x[0] = x[0].wrapping_add(x[1]);
            x[1] = x[1].rotate_left(rotation) ^ x[0];
        }
        let next = block as usize + 1;
        x[0] = x[0].wrapping_add(parity[next % 3]);
        x[1] = x[1]
            .wrapping_add(parity[(next + 1) % 3])
            .wrapping_add(block + 1);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_differ_in_every_coordinate() {
        let first = |seed, purpose, key| stream(seed, purpose, key).next_u64();
        let zero = Key::default();
        let base = first(0, Purpose::Batches, zero);
        let others = [
            first(1, Purpose::Batches, zero),
            first(0, Purpose::Overlay, zero),
            first(0, Purpose::Batches, Key { round: 1, ..zero }),
            first(0, Purpose::Batches, Key { row: 1, ..zero }),
            first(0, Purpose::Batches, Key { step: 1, ..zero }),
            first(0, Purpose::Batches, Key { layer: 1, ..zero }),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    /// Known answers of the Random123 distribution (`kat_vectors`, threefry2x32 20).
    #[test]
    fn threefry_gives_its_known_answers() {
        assert_eq!(threefry([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(
            threefry([u32::MAX; 2], [u32::MAX; 2]),
            [0x1cb9_96fc, 0xbb00_2be7]
        );
        assert_eq!(
            threefry([0x13198a2e, 0x03707344], [0x243f6a88, 0x85a308d3]),
            [0xc492_3a9c, 0x483d_f7a0]
        );
    }
}
