"""DisPFL: every client has a sparse model with a mask of its own, and averages what it has in common with its neighbours."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._divergence import has_diverged

Masks = NDArray[np.bool_]


class DisPfl(mf.Method):
    """DisPFL. m_i has a one for each parameter that client i's model x_i has; its others are zero.

        x_i <- m_i * (sum_j w_ij x_j) / (sum_j w_ij m_j)     # a message: 4 bytes for each parameter in m_j
        x_i <- x_i - eta m_i * g_i(x_i),                     the local steps
        m_i <- m_i without the share a_t of its parameters in each layer that are nearest to zero,
               and with as many others that have the largest gradients on one more mini-batch

        a_t = prune / 2 (1 + cos(pi t / T)) in round t of T

    What enters a mask begins at zero. With `density: 1` it is DFedAvg that averages before it trains. `evaluate: {local_test: 0.2}` judges
    how well models fit their own clients.

    # Interpretation
    The paper's averages count all clients alike; so they do by weights that are equal. What leaves a mask does not enter it in the same
    round. Biases are whole, as in sparse training elsewhere, and `density` is that of all other layers together. Each client draws a first
    mask of its own. The bits of masks are not counted, as in the paper. Momentum begins at zero in each round. `clip_norm` limits the norm of
    the gradient without the mask.

    Source: Dai, Shen, He, Tian and Tao, ICML 2022 (arXiv 2206.00187), Algorithms 1 and 2. Erdős-Rényi kernels: Evci, Gale, Menick, Castro
    and Elsen, ICML 2020 (arXiv 1911.11134).

    Attributes:
        density: the share of parameters in a mask, above 0 and at most 1.
        layers: how the density of layers differs: `erk`, by their inputs plus outputs over inputs times outputs, or `uniform`.
        prune: the share of a mask that changes at first, from 0 to 1.
    """

    sends_models = False
    name = "dispfl"
    stacks = 5
    density: float = 0.5
    layers: Literal["erk", "uniform"] = "erk"
    prune: float = 0.5

    def check(self) -> None:
        if not 0 < self.density <= 1:
            raise mf.KeyFault.value("density", "a number above 0 and at most 1")
        if not 0 <= self.prune <= 1:
            raise mf.KeyFault.value("prune", "a number from 0 to 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        steps = int(about.local_steps.sum()) + (about.clients if self.prune > 0 else 0)
        return {"local_steps": steps, "bytes": about.to_neighbours(4 * sum(self._counts(dict(about.layers)).values()))}

    def start(self, models: mf.Stack, about: mf.Start) -> None:
        draws = np.random.default_rng([about.seed, 0])
        layers = models.by_layer()
        self.masks = np.ones(models.shape, bool)
        counts = self._counts({name: layer[0].shape for name, layer in layers.items()})
        for mask in self.masks:
            for name, part in _parts(layers):
                if counts[name] < part.stop - part.start:
                    mask[part] = False
                    mask[part.start + draws.choice(part.stop - part.start, counts[name], replace=False)] = True

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if not has_diverged(models):
            self._average(models, round)
        velocity = models.zeros_like()
        steps = round.local_steps
        kept = (self.masks | ~round.alive[:, None]).astype(np.float32)
        for step in range(steps.max()):
            round.train(models, velocity=velocity, steps=(step < steps).astype(int))
            if has_diverged(models):
                return
            models.set(models.numpy() * kept)
        share = self.prune / 2 * (1 + math.cos(math.pi * round.number / round.rounds))
        if share > 0:
            gradient, _ = round.gradients(models, rows=steps > 0)
            self._change_masks(models, gradient.numpy(), share, np.flatnonzero(steps > 0))
            models.set(self._masked(models, round.alive))

    def _average(self, models: mf.Stack, round: mf.Round) -> None:
        """Averages each parameter over those that have it."""
        round.send(bytes=4 * self.masks.sum(axis=1))
        before = models.numpy()
        models.set(self._masked(models, np.ones(len(models), bool)))
        own = models.numpy()
        having = models.zeros_like()
        having.set(self.masks.astype(np.float32))
        weights = having.mix(round.mixing).numpy()
        sums = models.mix(round.mixing).numpy()
        means = np.divide(sums, weights, out=own.copy(), where=self.masks & (weights > 0))
        models.set(np.where(round.alive[:, None], means, before))

    def _masked(self, models: mf.Stack, rows: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The models `[N, P]`, of which `rows` have zeros outside of their masks."""
        return np.where(self.masks | ~rows[:, None], models.numpy(), np.float32(0))

    def _change_masks(self, models: mf.Stack, gradient: NDArray[np.float32], share: float, clients: NDArray[np.intp]) -> None:
        """Takes the `share` nearest to zero out of the masks of `clients`, layer by layer, and lets those with the largest gradients in."""
        weights = models.numpy()
        for _, part in _parts(models.by_layer()):
            for client in clients:
                mask = self.masks[client, part]
                inside, outside = np.flatnonzero(mask), np.flatnonzero(~mask)
                changed = min(math.ceil(share * len(inside)), len(outside))
                if changed > 0:
                    mask[inside[_smallest(np.abs(weights[client, part][inside]), changed)]] = False
                    mask[outside[_smallest(-np.abs(gradient[client, part][outside]), changed)]] = True

    def _counts(self, shapes: dict[str, tuple[int, ...]]) -> dict[str, int]:
        """How many parameters of each layer a mask has. Biases are whole."""
        sizes = {name: math.prod(shape) for name, shape in shapes.items()}
        sparse = [name for name, shape in shapes.items() if min(shape) > 1]
        densities = {name: self.density for name in sparse}
        if self.layers == "erk":
            scores = {name: sum(shapes[name]) / sizes[name] for name in sparse}
            densities = _densities(scores, sizes, self.density * sum(sizes[name] for name in sparse))
        return {name: max(1, round(densities.get(name, 1.0) * size)) for name, size in sizes.items()}


def _densities(scores: dict[str, float], sizes: dict[str, int], wanted: float) -> dict[str, float]:
    """Densities in proportion to `scores`, none above 1, for `wanted` parameters in all."""
    whole: set[str] = set()
    while True:
        others = [name for name in scores if name not in whole]
        left = wanted - sum(sizes[name] for name in whole)
        scale = left / sum(scores[name] * sizes[name] for name in others) if others else 0.0
        above = {name for name in others if scale * scores[name] > 1}
        if not above:
            return {name: 1.0 if name in whole else scale * scores[name] for name in scores}
        whole |= above


def _smallest(values: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """The places of the `count` smallest values; of equal ones the first."""
    limit = np.partition(values, count - 1)[count - 1]
    below = np.flatnonzero(values < limit)
    return np.concatenate([below, np.flatnonzero(values == limit)[: count - len(below)]])


def _parts(layers: dict[str, NDArray[np.float32]]) -> list[tuple[str, slice]]:
    """The columns of each layer in a row of parameters."""
    ends = np.cumsum([layer[0].size for layer in layers.values()]).tolist()
    return [(name, slice(end - layer[0].size, end)) for (name, layer), end in zip(layers.items(), ends, strict=True)]
