//! The backward pass of one row, each layer's gradient handed on while it is in registers.

use super::forward::DenseNode;
use crate::blocked::layers::constant_columns::{ConstantProduct, PartedProduct};
use crate::blocked::layers::embedding;
use crate::blocked::layers::last;
use crate::blocked::layers::lstm;
use crate::blocked::pass::passes::{Entry, Passes};
use crate::blocked::pass::scratch::{Buffers, Scratch, StageMemory, reserve};
use crate::blocked::pass::sink::{Product, Sink};
use crate::blocked::pass::stage_io::StageIo;
use crate::cpu::Cpu;
use crate::kernels::{Affine, Packing, SumStart};
use crate::network::dropout::Dropout;
use crate::network::layer::{Dense, Layer, Lstm};

impl Passes<'_> {
    /// Carries the loss's gradient by the outputs, in the last output, back through the network, which left out what
    /// `dropout` says. If there is a batch `ahead`, the next step's, what the first layer makes of it takes the place of that
    /// layer's outputs.
    pub(crate) fn backward(
        &self,
        scratch: &mut Scratch,
        batch: usize,
        sink: &mut Sink<'_>,
        dropout: Option<&Dropout>,
        ahead: bool,
    ) {
        let buffers = &mut scratch.buffers;
        for (index, stage) in self.stages.stages.iter().enumerate().rev() {
            let (before, after) = scratch.stages.split_at_mut(index);
            let input = self.examples_entry(&scratch.input);
            let io = StageIo {
                drops_out: dropout.is_some(),
                ..self.io(index, batch, before, input)
            };
            let memory = &mut after[0];
            if stage.by_example {
                self.examples_back(stage, &io, memory, buffers, sink);
                continue;
            }
            let node = &self.network.nodes()[stage.nodes.start];
            let size = batch * stage.width;
            if node.relu {
                let slope = node.slope(dropout.is_some());
                mask(self.cpu, &mut memory.deltas[..size], &memory.outputs, slope);
            }
            if let (true, 0, Layer::Dense(layer)) = (ahead, index, &node.layer) {
                let d = &memory.deltas[..size];
                let sums = self.constant_sums(layer, &io.entry, d);
                self.bias_back(layer, d, &buffers.ones, sink);
                let pairs = &mut buffers.pairs;
                let product = self.parted(layer, io.entry, d, sums.as_deref(), pairs);
                let (indices, inputs) = &scratch.next;
                let outputs = &mut memory.outputs[..indices.len() * layer.outputs];
                let next = self.examples_entry(inputs);
                self.step_ahead(DenseNode::of(layer, node), &product, next, outputs, sink);
                continue;
            }
            // After the loss the last stage's outputs are its gradient by them.
            let d = match index + 1 == self.stages.stages.len() {
                true => &memory.outputs[..size],
                false => &memory.deltas[..size],
            };
            match &node.layer {
                Layer::Dense(layer) => self.dense_back(layer, d, io, buffers, sink),
                Layer::Embedding(layer) => embedding::backward(self.cpu, layer, d, &io, sink),
                Layer::Last(grid) => last::backward(grid, d, io),
                Layer::Lstm(layer) => self.lstm_back(layer, memory, io, buffers, sink),
                Layer::Convolution(_)
                | Layer::GroupNorm(_)
                | Layer::MaxPool(_)
                | Layer::MeanPool(_)
                | Layer::Add(_) => unreachable!("layers over grids go by example"),
            }
        }
    }

    /// What stage `index` read and where its gradient goes.
    fn io<'a>(
        &self,
        index: usize,
        batch: usize,
        before: &'a mut [StageMemory],
        input: Entry<'a>,
    ) -> StageIo<'a> {
        let (entry, below) = match before.last_mut() {
            None => (input, None),
            Some(memory) => {
                let entry = self.entry_after(index - 1, &memory.outputs);
                let size = batch * self.stages.stages[index - 1].width;
                (entry, Some(&mut memory.deltas[..size]))
            }
        };
        StageIo {
            entry,
            below,
            batch,
            drops_out: false,
        }
    }

    fn dense_back(
        &self,
        layer: &Dense,
        d: &[f32],
        io: StageIo<'_>,
        buffers: &mut Buffers,
        sink: &mut Sink<'_>,
    ) {
        let (entry, rows) = (io.entry.of_places(layer), io.batch * layer.places);
        if let Some(below) = io.below {
            let (products, [x, weight_pairs]) = (self.products(), &mut buffers.pairs);
            let weight = &sink.weights()[layer.weight.clone()];
            let shape = [layer.inputs, layer.outputs];
            let size = layer.inputs * products.places(layer.outputs);
            reserve(&mut buffers.transposed, size);
            let w = &mut buffers.transposed[..size];
            products.transpose(weight, shape, weight_pairs, w);
            let d = Entry::of(d, layer.outputs);
            let d = products.along_columns(d, [rows, layer.outputs], x);
            products.multiply(Affine {
                x: d.begin(),
                x_stride: d.stride,
                subset: None,
                w,
                packing: Packing::Rows,
                start: SumStart::Zero,
                rows,
                y: &mut below[entry.offset..],
                y_stride: entry.stride,
                inner: products.places(layer.outputs),
                columns: layer.inputs,
                relu: false,
            });
        }
        let sums = self.constant_sums(layer, &entry, d);
        let weight = self.parted(layer, entry, d, sums.as_deref(), &mut buffers.pairs);
        self.accept_parted(&weight, layer.weight.clone(), sink);
        self.bias_back(layer, d, &buffers.ones, sink);
    }

    /// The sums over the examples of `d` `[B, outputs]`, if they share numbers.
    fn constant_sums(&self, layer: &Dense, entry: &Entry<'_>, d: &[f32]) -> Option<Vec<f32>> {
        let sums = |_| self.row_sums(d, layer.outputs);
        entry.parts.map(sums)
    }

    /// The gradient of the bias of a layer that got `d` back: its sum over the rows, each times one of `ones`.
    fn bias_back(&self, layer: &Dense, d: &[f32], ones: &[f32], sink: &mut Sink<'_>) {
        if let Some(bias) = layer.bias.clone() {
            let sum = Product::sum_of_rows(d, layer.outputs, ones);
            sink.accept(self.cpu, &sum, bias, 1);
        }
    }

    /// The gradient of the weights of `layer`, which read `entry` and got `d` back; `sums` over the examples go with the numbers
    /// that they share. Operands in pairs are written to `pairs`.
    fn parted<'a>(
        &self,
        layer: &Dense,
        entry: Entry<'a>,
        d: &'a [f32],
        sums: Option<&'a [f32]>,
        [x_pairs, d_pairs]: &'a mut [Vec<f32>; 2],
    ) -> PartedProduct<'a> {
        let constant = entry.parts.map(|parts| parts.constant).zip(sums);
        let (products, rows) = (self.products(), d.len() / layer.outputs);
        let x = products.along_rows(entry, [rows, layer.inputs], x_pairs);
        let d = Entry::of(d, layer.outputs);
        let d = products.along_rows(d, [rows, layer.outputs], d_pairs);
        PartedProduct {
            varying: Product {
                precision: products.precision,
                x: x.begin(),
                x_stride: x.stride,
                subset: x.parts.map(|parts| parts.varying),
                inner: layer.inputs,
                d: d.values,
                columns: layer.outputs,
                rows: products.places(rows),
            },
            constant: constant.map(|(columns, sums)| ConstantProduct { columns, sums }),
        }
    }

    fn lstm_back(
        &self,
        layer: &Lstm,
        memory: &mut StageMemory,
        io: StageIo<'_>,
        buffers: &mut Buffers,
        sink: &mut Sink<'_>,
    ) {
        let pieces = if self.share { self.cpu.threads() } else { 1 };
        let back = lstm::Back {
            products: self.products(),
            layer,
            batch: io.batch,
            pieces,
        };
        back.run(memory, io, buffers, sink);
    }
}

/// `d ⊙ [y > 0] · slope`. A unit that was left out has an output of zero, and so no gradient.
pub(super) fn mask(cpu: &Cpu, d: &mut [f32], y: &[f32], slope: f32) {
    cpu.instructions().vectorize(
        #[inline(always)]
        move || {
            for (delta, activation) in d.iter_mut().zip(y) {
                let through = *delta * slope;
                *delta = if *activation > 0.0 { through } else { 0.0 };
            }
        },
    );
}
