//! Gathering a batch of bytes (as numbers), numbers or tokens, in the order in which the network reads them.

use super::examples::{DeviceExamples, Held};
use super::labels::half;
use super::part::{Part, Slot, has, place_of};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::trace::moves;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;
use meshfold_data::Variant;

const SHIFTS: usize = Variant::SHIFTS as usize;
const MOST_SHIFT: usize = Variant::MOST_SHIFT;

/// How features lie, in kernels.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct OrderAt {
    /// Features, or words of them, from one example to the next.
    stride: usize,
    /// Vectors of an example in the batch.
    columns: usize,
    channels: usize,
    /// Features of a channel.
    plane: usize,
    /// Pixels of a row of an image.
    line: usize,
    /// Examples, `M`. Indices from there on are those of variants.
    examples: usize,
}

/// Where feature `at` of an example lies among those that are stored with their channels outermost.
#[cube]
fn source_of(order: &OrderAt, at: usize, #[comptime] channels_last: bool) -> usize {
    let mut source = at;
    if comptime!(channels_last) {
        source = at % order.channels * order.plane + at / order.channels;
    }
    source
}

/// Where the pixel that a variant of an image has at `source` lies in the image itself, both with channels outermost; `nowhere` if it is
/// beyond the rim. `variant` is what [`Variant::number`](meshfold_data::Variant::number) gives.
#[cube]
fn source_in_variant(order: &OrderAt, variant: usize, source: usize, nowhere: usize) -> usize {
    let (channel, pixel) = (source / order.plane, source % order.plane);
    let (y, mut x) = (pixel / order.line, pixel % order.line);
    if variant >= SHIFTS * SHIFTS {
        x = order.line - 1 - x;
    }
    // Counted from the rim of the largest padding, as there are no negative numbers.
    let line = y + (variant / SHIFTS + MOST_SHIFT) % SHIFTS;
    let place = x + (variant % SHIFTS + MOST_SHIFT) % SHIFTS;
    let height = order.plane / order.line;
    let mut source = nowhere;
    if line >= MOST_SHIFT
        && line < height + MOST_SHIFT
        && place >= MOST_SHIFT
        && place < order.line + MOST_SHIFT
    {
        source = channel * order.plane + (line - MOST_SHIFT) * order.line + (place - MOST_SHIFT);
    }
    source
}

/// Each unit turns one vector of bytes of one example into numbers, `byte · multiply + add`.
#[cube(launch)]
fn bytes_kernel<N: Size>(
    words: &[u32],
    scales: &[f32],
    indices: &[u32],
    counts: &[u32],
    batch: &mut [Vector<f32, N>],
    slot: Slot,
    order: OrderAt,
    #[comptime] channels_last: bool,
    #[comptime] by_channel: bool,
    #[comptime] augmented: bool,
) {
    let example = ABSOLUTE_POS / order.columns;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let place = place_of(&slot, example / slot.examples, example % slot.examples);
    let mut index = indices[place] as usize;
    let mut variant = 0usize;
    if comptime!(augmented) {
        variant = index / order.examples;
        index %= order.examples;
    }
    let first = index * order.stride;
    let mut values = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for n in 0..N::value() {
        let at = ABSOLUTE_POS % order.columns * N::value() + n;
        let mut source = source_of(&order, at, channels_last);
        let mut scale = 0usize;
        if comptime!(by_channel) {
            scale = 2 * (source / order.plane);
        }
        let mut mask = 255u32;
        if comptime!(augmented) {
            let nowhere = order.columns * N::value();
            source = source_in_variant(&order, variant, source, nowhere);
            if source == nowhere {
                source = 0usize;
                mask = 0u32;
            }
        }
        let byte = (words[first + source / 4] >> (8 * (source % 4) as u32)) & mask;
        values.insert(n, f32::cast_from(byte) * scales[scale] + scales[scale + 1]);
    }
    batch[ABSOLUTE_POS] = values;
}

/// Each unit copies one vector of numbers of one example.
#[cube(launch)]
fn numbers_kernel<N: Size>(
    numbers: &[f32],
    indices: &[u32],
    counts: &[u32],
    batch: &mut [Vector<f32, N>],
    slot: Slot,
    order: OrderAt,
    #[comptime] channels_last: bool,
    #[comptime] augmented: bool,
) {
    let example = ABSOLUTE_POS / order.columns;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let place = place_of(&slot, example / slot.examples, example % slot.examples);
    let mut index = indices[place] as usize;
    let mut variant = 0usize;
    if comptime!(augmented) {
        variant = index / order.examples;
        index %= order.examples;
    }
    let first = index * order.stride;
    let mut values = Vector::<f32, N>::new(0.0f32);
    #[unroll]
    for n in 0..N::value() {
        let at = ABSOLUTE_POS % order.columns * N::value() + n;
        let mut source = source_of(&order, at, channels_last);
        let mut value = 0.0f32;
        if comptime!(augmented) {
            let nowhere = order.columns * N::value();
            source = source_in_variant(&order, variant, source, nowhere);
            if source < nowhere {
                value = numbers[first + source];
            }
        } else {
            value = numbers[first + source];
        }
        values.insert(n, value);
    }
    batch[ABSOLUTE_POS] = values;
}

/// Each unit copies one token of one window.
#[cube(launch)]
fn tokens_kernel(
    text: &[u32],
    starts: &[u32],
    indices: &[u32],
    counts: &[u32],
    batch: &mut [u32],
    slot: Slot,
    positions: usize,
) {
    let example = ABSOLUTE_POS / positions;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let place = place_of(&slot, example / slot.examples, example % slot.examples);
    let start = starts[indices[place] as usize] as usize;
    batch[ABSOLUTE_POS] = half(text, start + ABSOLUTE_POS % positions);
}

/// Writes `batch` `[rows, examples, D]`, the examples at `indices`; only if `augmented`, these may be variants.
pub(crate) fn gather(
    examples: &DeviceExamples,
    indices: &CubeTensor,
    augmented: bool,
    batch: &CubeTensor,
    part: &Part<'_>,
) {
    let (order, client) = (&examples.order, &batch.client);
    let n = match examples.held {
        Held::Tokens { .. } => 1,
        Held::Bytes { .. } | Held::Numbers(_) => vector_size(order.width),
    };
    let (count, dim) = line(client, part.rows * part.examples * (order.width / n));
    let numbers = part.places() * order.width;
    let read = match &examples.held {
        Held::Bytes { .. } => numbers.div_ceil(4),
        Held::Numbers(_) => numbers,
        Held::Tokens { .. } => numbers.div_ceil(2),
    };
    moves(read, numbers);
    let (indices, counts, batch) = (
        indices.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        batch.clone().into_buffer_arg(),
    );
    match &examples.held {
        Held::Bytes {
            words,
            words_per_example,
            scales,
            by_channel,
        } => bytes_kernel::launch(
            client,
            count,
            dim,
            n,
            words.clone().into_buffer_arg(),
            scales.clone().into_buffer_arg(),
            indices,
            counts,
            batch,
            part.argument(),
            argument(examples, *words_per_example, n),
            order.channels_last,
            *by_channel,
            augmented,
        ),
        Held::Numbers(numbers) => numbers_kernel::launch(
            client,
            count,
            dim,
            n,
            numbers.clone().into_buffer_arg(),
            indices,
            counts,
            batch,
            part.argument(),
            argument(examples, order.width, n),
            order.channels_last,
            augmented,
        ),
        Held::Tokens { text, starts } => tokens_kernel::launch(
            client,
            count,
            dim,
            text.clone().into_buffer_arg(),
            starts.clone().into_buffer_arg(),
            indices,
            counts,
            batch,
            part.argument(),
            order.width,
        ),
    }
}

/// The argument of a launch over vectors of `vector` numbers; examples are `stride` apart.
fn argument(examples: &DeviceExamples, stride: usize, vector: usize) -> OrderAtLaunch {
    let order = &examples.order;
    OrderAtLaunch::new(
        stride,
        order.width / vector,
        order.channels,
        order.width / order.channels,
        order.line,
        examples.labels.examples,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::network::model::{CharLstm, Model};
    use crate::stacked::batches::examples::NetworkReading;
    use crate::stacked::device::memory::download;
    use crate::stacked::device::test_device::{UnevenBatch, expect_close, gpu, numbers};
    use meshfold_data::{Examples, Input, Scale, Shape};
    use std::sync::Arc;

    /// Compares the batch that `network` reads from `examples` with what the host reads, in the network's order.
    fn compare(examples: &Examples, network: &Network) {
        let batch = UnevenBatch::uneven(5, 0);
        let index = |at| (at * 3 % examples.len()) as u32;
        let indices: Vec<u32> = (0..batch.rows() * 5).map(index).collect();
        compare_at(examples, network, &indices, &batch, false);
    }

    /// The same for all variants of an example, and some examples as they are.
    fn compare_variants(examples: &Examples, network: &Network) {
        let batch = UnevenBatch {
            counts: vec![Variant::COUNT, 0, 5],
            examples: Variant::COUNT as usize,
            first_row: 0,
        };
        let last = examples.len() as u32 - 1;
        let of_last = |number| Variant::numbered(number).index_of(last, examples.len());
        let mut indices: Vec<u32> = (0..Variant::COUNT).map(of_last).collect();
        indices.extend((0..2 * Variant::COUNT).map(|at| at % (last + 1)));
        compare_at(examples, network, &indices, &batch, true);
    }

    /// Compares what is gathered of the `batch` with these indices.
    fn compare_at(
        examples: &Examples,
        network: &Network,
        indices: &[u32],
        batch: &UnevenBatch,
        augmented: bool,
    ) {
        let (gpu, width) = (gpu(), examples.width());
        let channels = match examples.input() {
            Input::Numbers(shape) if network.reads_channels_last() => shape.channels,
            _ => 1,
        };
        let mut oracle = vec![0.0; indices.len() * width];
        for (row, count) in batch.counts.iter().enumerate() {
            for place in (0..*count as usize).map(|at| row * batch.examples + at) {
                let example = examples.row(indices[place] as usize);
                for (at, value) in example.iter().enumerate() {
                    let (channel, plane) = (at / (width / channels), at % (width / channels));
                    oracle[place * width + plane * channels + channel] = *value;
                }
            }
        }
        let memory = gpu.memory();
        let [indices, counts] = [indices, &batch.counts].map(|words| memory.upload_words(words));
        let examples = DeviceExamples::upload(&gpu, examples, NetworkReading::of(network)).unwrap();
        let out = match examples.held {
            Held::Tokens { .. } => memory.upload_words(&vec![0; oracle.len()]),
            _ => memory.upload_floats(&vec![0.0; oracle.len()]),
        };
        gather(&examples, &indices, augmented, &out, &batch.part(&counts));
        match examples.held {
            Held::Tokens { .. } => {
                let words: Vec<u32> = oracle.iter().map(|token| *token as u32).collect();
                assert_eq!(download::<u32>(out), words);
            }
            // The product and the sum may be one operation on the device.
            _ => expect_close(&download::<f32>(out), &oracle, 1e-6),
        }
    }

    fn shape(channels: usize, height: usize, width: usize) -> Shape {
        Shape {
            channels,
            height,
            width,
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn bytes_become_the_floats_of_the_host() {
        let scale = Scale::standardising(0.13, 0.31);
        for shape in [
            shape(1, 1, 1),
            shape(1, 2, 3),
            shape(1, 1, 7),
            shape(1, 28, 28),
        ] {
            let width = shape.features();
            let bytes: Vec<u8> = (0..11 * width).map(|at| (at * 37 % 256) as u8).collect();
            let examples = Examples::new(bytes, vec![0; 11], shape, 2, scale).unwrap();
            compare(
                &examples,
                &Network::of_features(&Model::Logistic, width, 2).unwrap(),
            );
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn channels_have_their_own_scales_and_go_innermost_for_convolutions() {
        let scales = [0.1, 0.2, 0.3].map(|mean| Scale::standardising(mean, 0.3 - 0.1 * mean));
        for shape in [shape(3, 5, 6), shape(3, 4, 7)] {
            let width = shape.features();
            let bytes: Vec<u8> = (0..11 * width).map(|at| (at * 37 % 256) as u8).collect();
            let labels = vec![0; 11];
            let examples =
                Examples::scaled_by_channel(bytes, labels, shape, 2, scales.to_vec()).unwrap();
            for model in [Model::Logistic, Model::CnnCifar] {
                let network = Network::new(&model, Input::Numbers(shape), 2).unwrap();
                assert_eq!(network.reads_channels_last(), model == Model::CnnCifar);
                compare(&examples, &network);
            }
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn variants_of_images_are_those_of_the_host() {
        let scales = [0.1, 0.2, 0.3].map(|mean| Scale::standardising(mean, 0.3 - 0.1 * mean));
        for shape in [shape(3, 5, 6), shape(3, 12, 12), shape(1, 9, 20)] {
            let width = shape.features();
            let bytes: Vec<u8> = (0..11 * width)
                .map(|at| (at * 37 % 255 + 1) as u8)
                .collect();
            for scales in [&scales[..1], &scales[..shape.channels]] {
                let (bytes, labels, scales) = (bytes.clone(), vec![0; 11], scales.to_vec());
                let examples =
                    Examples::scaled_by_channel(bytes, labels, shape, 2, scales).unwrap();
                let values = numbers(11 * width, 4);
                let floats = Examples::numbers(values, vec![0; 11], shape, 2).unwrap();
                for model in [Model::Logistic, Model::CnnCifar] {
                    let network = Network::new(&model, Input::Numbers(shape), 2).unwrap();
                    compare_variants(&examples, &network);
                    compare_variants(&floats, &network);
                    compare(&examples, &network);
                }
            }
        }
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn numbers_and_tokens_are_those_of_the_host() {
        let shape = shape(2, 4, 9);
        let values = numbers(11 * 72, 4);
        let examples = Examples::numbers(values, vec![0; 11], shape, 2).unwrap();
        for model in [Model::Logistic, Model::CnnCifar] {
            compare(
                &examples,
                &Network::new(&model, Input::Numbers(shape), 2).unwrap(),
            );
        }
        let text = (0..101u16).map(|at| at * 37 % 300).collect();
        let starts = vec![0, 93, 5, 40, 41];
        let examples = Examples::windows(Arc::new(text), starts, 7, 300).unwrap();
        let model = Model::CharLstm(CharLstm {
            hidden: 1,
            ..CharLstm::default()
        });
        compare(
            &examples,
            &Network::new(&model, examples.input(), 300).unwrap(),
        );
    }
}
