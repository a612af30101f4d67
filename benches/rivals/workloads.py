"""The workloads W1 to W6: shapes, learnable synthetic data, the overlay, the model that all clients start from.

Models are dicts of arrays whose names are those of PyTorch's modules. Matrices are `[inputs, outputs]`; the inputs of a
convolution are the 5 x 5 places of its window row by row, each with all channels. A stack of models has the clients first.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

CLASSES = 10
SIDE = 32  # of a colour image, in pixels
WINDOW = 5  # side of a convolution
CHANNELS = (3, 32, 32, 64)
SYMBOLS, EMBEDDING, HIDDEN, LAYERS, CHARACTERS = 90, 8, 256, 2, 80


@dataclass(frozen=True)
class Case:
    """A workload; `widths` are those of a dense network's layers."""

    name: str
    model: str  # dense, lenet, lstm, or none where models are only mixed
    clients: int
    degree: int
    batch: int = 0
    steps: int = 0  # local steps of a round
    rate: float = 0.0
    momentum: float = 0.0
    keeps_velocity: bool = False  # from round to round
    rounds: int = 1  # of a timed repeat
    samples: int = 0  # of each client
    widths: tuple = ()
    precision: str = "f32"  # of what products multiply: f32 or bf16


CASES = {
    case.name: case
    for case in (
        Case("w1", "dense", 1000, 10, 13, 1, 0.1, rounds=20, samples=50, widths=(784, 10)),
        Case("w2", "dense", 100, 3, 20, 30, 0.01, 0.9, samples=600, widths=(784, 200, 10)),
        Case("w3", "dense", 200, 5, 50, 5, 0.2, rounds=2, samples=300, widths=(784, 200, 200, 10)),
        Case("w4", "lenet", 100, 10, 20, 1, 0.01, 0.9, keeps_velocity=True, rounds=2, samples=400),
        Case("w5", "lstm", 100, 3, 10, 1, 0.5, rounds=2, samples=40),
        Case("w6", "none", 1000, 10),
    )
}
MIXED = 159_010  # parameters of each model of W6


@dataclass(frozen=True)
class Product:
    """A layer's matrix product, made at so many positions of an example."""

    name: str
    inputs: int
    outputs: int
    positions: int = 1
    takes_data: bool = False  # the gradient by its inputs is not needed
    bias: str = ""
    fan_in: int = 0  # initial values are uniform in +-1/sqrt(fan_in); 0: the inputs


def products(case):
    """The matrix products of the case's model."""
    if case.model == "dense":
        pairs = enumerate(itertools.pairwise(case.widths))
        return [Product(f"layers.{n}.weight", i, o, takes_data=n == 0, bias=f"layers.{n}.bias") for n, (i, o) in pairs]
    if case.model == "lenet":
        pairs = enumerate(itertools.pairwise(CHANNELS))
        # Every layer's pool halves the side.
        convs = [
            Product(f"convs.{n}.weight", WINDOW**2 * i, o, (SIDE >> n) ** 2, n == 0, f"convs.{n}.bias")
            for n, (i, o) in pairs
        ]
        return [*convs, Product("out.weight", (SIDE >> 3) ** 2 * CHANNELS[-1], CLASSES, bias="out.bias")]
    if case.model == "lstm":
        cells = []
        for n in range(LAYERS):
            inputs = EMBEDDING if n == 0 else HIDDEN
            bias = f"lstm.bias_ih_l{n}"
            cells.append(Product(f"lstm.weight_ih_l{n}", inputs, 4 * HIDDEN, CHARACTERS, bias=bias, fan_in=HIDDEN))
            cells.append(Product(f"lstm.weight_hh_l{n}", HIDDEN, 4 * HIDDEN, CHARACTERS))
        return [*cells, Product("out.weight", HIDDEN, SYMBOLS, CHARACTERS, bias="out.bias")]
    return []


def flop_per_step(case):
    """Floating-point operations of the products of one client's local step: two per multiply-accumulate, forward, for the
    gradient by the weights and for that by the inputs."""
    return case.batch * sum(2 * (2 if p.takes_data else 3) * p.positions * p.inputs * p.outputs for p in products(case))


def initial(case, rng):
    """A model of the case: name to float32 array."""
    model = {}
    for product in products(case):
        bound = 1 / math.sqrt(product.fan_in or product.inputs)
        model[product.name] = rng.uniform(-bound, bound, (product.inputs, product.outputs))
        if product.bias:
            model[product.bias] = rng.uniform(-bound, bound, product.outputs)
    if case.model == "lenet":
        for n, channels in enumerate(CHANNELS[1:]):
            model[f"norms.{n}.weight"], model[f"norms.{n}.bias"] = np.ones(channels), np.zeros(channels)
    if case.model == "lstm":
        model["embed.weight"] = rng.standard_normal((SYMBOLS, EMBEDDING))
    return {name: values.astype(np.float32) for name, values in model.items()}


@dataclass(frozen=True)
class Data:
    """`inputs` are bytes: images `[M, ...]`, or texts of one character more than a network is shown. `targets`, `[M]`, are
    the classes of images; a text has none. `shards`, `[N, samples]`, are the rows that each client holds."""

    inputs: np.ndarray
    targets: np.ndarray | None
    shards: np.ndarray


def synthetic(case, rng):
    """Learnable data, dealt at random."""
    count = case.clients * case.samples
    shards = rng.permutation(count).astype(np.int32).reshape(case.clients, case.samples)
    if case.model == "lstm":
        return Data(texts(count, rng), None, shards)
    shape = (CHANNELS[0], SIDE, SIDE) if case.model == "lenet" else (case.widths[0],)
    targets = rng.integers(CLASSES, size=count).astype(np.int32)
    return Data(images(targets, shape, rng), targets, shards)


def images(targets, shape, rng):
    """A prototype per class under noise."""
    pixels = math.prod(shape)
    prototypes = rng.integers(40, 216, size=(CLASSES, pixels), dtype=np.int16)
    inputs = np.empty((len(targets), pixels), np.uint8)
    for first in range(0, len(targets), 4096):
        part = targets[first : first + 4096]
        noise = rng.integers(-100, 101, size=(len(part), pixels), dtype=np.int16)
        inputs[first : first + 4096] = np.clip(prototypes[part] // 2 + 64 + noise, 0, 255)
    return inputs.reshape(-1, *shape)


def texts(count, rng):
    """A Markov source of the first order: every character has four successors, each taken in 60 % of what is left."""
    successors = rng.integers(SYMBOLS, size=(SYMBOLS, 4))
    text = np.empty((count, CHARACTERS + 1), np.uint8)
    text[:, 0] = rng.integers(SYMBOLS, size=count)
    for at in range(CHARACTERS):
        turn = np.minimum(rng.geometric(0.6, size=count) - 1, 3)
        text[:, at + 1] = successors[text[:, at], turn]
    return text


def regular_overlay(nodes, degree, rng):
    """The neighbours, `[nodes, degree]`, in a random regular graph: a ring with chords whose edges a-b and c-d become a-d
    and c-b, again and again."""
    neighbours = [set() for _ in range(nodes)]
    hops = [*range(1, degree // 2 + 1), *([nodes // 2] if degree % 2 else [])]
    for node in range(nodes):
        for hop in hops:
            neighbours[node].add((node + hop) % nodes)
            neighbours[(node + hop) % nodes].add(node)
    if any(len(of_node) != degree for of_node in neighbours):
        raise ValueError(f"no regular graph of degree {degree} on {nodes} nodes")
    edges = [(a, b) for a in range(nodes) for b in neighbours[a] if a < b]
    for _ in range(10 * len(edges)):
        first, second = rng.integers(len(edges), size=2)
        (a, b), (c, d) = edges[first], edges[second]
        if rng.integers(2):
            c, d = d, c
        if len({a, b, c, d}) < 4 or d in neighbours[a] or b in neighbours[c]:
            continue
        for node, old, new in ((a, b, d), (b, a, c), (c, d, b), (d, c, a)):
            neighbours[node].remove(old)
            neighbours[node].add(new)
        edges[first], edges[second] = (a, d), (c, b)
    return np.array([sorted(of_node) for of_node in neighbours], dtype=np.int32)


def metropolis(neighbours):
    """Metropolis weights of the clients themselves, `[N]`, and of the edges, `[N, degree]`, of a regular overlay."""
    clients, degree = neighbours.shape
    weight = np.float32(1 / (degree + 1))
    return np.full(clients, 1 - degree * weight, np.float32), np.full((clients, degree), weight)
