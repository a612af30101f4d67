//! From examples as they are stored to examples as a network reads them.

use crate::network::Network;
use meshfold_data::Input;

/// Examples `[B, D]` as `network` reads them: with channels innermost if it has convolutions, else as stored, with
/// channels outermost.
pub(super) fn as_read<T: Copy>(network: &Network, x: &[T]) -> Vec<T> {
    assert!(
        network.own_model().is_none(),
        "the oracles know the engine's models alone"
    );
    match network.input() {
        Input::Numbers(shape) if network.reads_channels_last() => {
            let places = shape.height * shape.width;
            let innermost = |at: usize| (at % shape.channels) * places + at / shape.channels;
            let examples = x.chunks_exact(shape.features());
            examples
                .flat_map(|example| (0..example.len()).map(|at| example[innermost(at)]))
                .collect()
        }
        Input::Numbers(_) | Input::Tokens { .. } => x.to_vec(),
    }
}
