"""DP-D-SGD: D-SGD whose local steps are differentially private, with an account of the privacy that is spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold import _late
from meshfold.methods._privacy import divergences, epsilons


class DpDsgd(mf.Method):
    """Local steps of DP-SGD, then an average over neighbours. A local step of client i takes a lot, the next L of its own n_i examples:

        g = (1/L) (sum_s g_s min(1, C/|g_s|) + sigma C N(0, I))          # g_s: the gradient of example s alone
        x_i <- x_i - rate g

    No lot holds an example twice, as that example could then move the sum by 2 C. The last lot of a pass over the shard has the examples that
    are left; it has the same noise, and is divided by L as well. `local: {steps: k}` are k lots, and `local: {epochs: K}` are K passes of n_i / L
    lots each, rounded up. A lot of more examples than a client has is refused, and so is `draw: with_replacement`.

    `batch_size` must be 1, as a gradient is taken for each example. Each counts as a local step in records, in simulated time and in a
    learning rate that moves on with steps: `local_steps` is `examples_seen`, and a step of the method is L of these. `momentum`,
    `weight_decay` and `clip_norm` are refused: the method has none of the first two, and `norm` takes the place of the third. With
    `noise: 0`, a large `norm` and lots that divide the shards it is DFedAvg with batches of L examples.

    Each round records `epsilon`, the spread over clients of the privacy that each has spent so far: its examples are (epsilon, delta)
    differentially private toward everybody who sees all of its messages, its neighbours for instance, or all of them together. It is an upper
    bound: only whole orders of Rényi divergence are tried. A run warns of a `delta` of 1/n_i or more, with which a method may publish an
    example of each client as it is. Without noise nothing bounds it, and there is no figure.

    # Interpretation
    The account is that of the sampled Gaussian mechanism, for examples that are drawn independently with the probability L / n_i (Poisson
    sampling), where examples are neighbours if one is added or removed. Such lots differ in size, too, and are divided by L. The examples of
    this simulation are shuffled and taken in turn, as libraries for deep learning do that state the same account; the last lot of a pass,
    which has fewer, is accounted as any other. A straggler's last lot may be short, too, if `local` says epochs. The noise comes from a
    generator for simulations, not for secrets.

    Source: Abadi et al., CCS 2016 (arXiv 1607.00133), Algorithm 1; the account is by Mironov, Talwar and Zhang, 2019 (arXiv 1908.10530),
    Section 3.3.

    Attributes:
        lot: L, the examples of a step: at most those of the client with the fewest.
        norm: C, the largest norm of the gradient of an example.
        noise: sigma, the deviation of the noise as a multiple of C.
        delta: the probability with which privacy may fail.
    """

    lot: int = 20
    norm: float = 1.0
    noise: float = 1.0
    delta: float = 1e-5

    def check(self, settings: Mapping[str, Any]) -> None:
        self._expect_common(settings)
        if self.lot < 1:
            raise mf.KeyFault.value("lot", "a whole number of at least 1")
        if not self.norm > 0:
            raise mf.KeyFault.value("norm", "a number above 0")
        if not self.noise >= 0:
            raise mf.KeyFault.value("noise", "a number of at least 0")
        if not 0 < self.delta < 1:
            raise mf.KeyFault.value("delta", "a number above 0 and below 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        # A local step is an example if `local` counts epochs.
        examples = 1 if "epochs" in about.settings["local"] else self.lot
        return {"local_steps": examples * int(about.local_steps.sum())}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        #: Lots that each client has taken, and how many examples of its pass in progress, `[N]`.
        self.steps = np.zeros(len(models))
        self.taken = np.zeros(len(models), np.int64)
        for known in about:
            self._expect_small_lots(known)
            most = int(known.shard_sizes.max())
            if self.delta * most >= 1:
                _late.say(
                    f"algorithm.own.delta: found {self.delta:.4g}, and a client has {most} examples: with a delta of 1/{most} or more, to publish one of "
                    "its examples as it is would be private. Give one far below that"
                )

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        sizes, left = round.shard_sizes.astype(np.int64), round.local_steps.astype(np.int64)
        # A local step is an example if `local` counts epochs, and is taken for a lot if it counts steps.
        counts_examples = "epochs" in round.settings["local"]
        generator = np.random.default_rng([round.seed, round.number])
        while left.any():
            examples = np.minimum(self.lot, sizes - self.taken)
            lots = np.minimum(examples, left) if counts_examples else np.where(left > 0, examples, 0)
            active = lots > 0
            total, rates = self._of_examples(models, round, lots)
            noise = generator.standard_normal(models.shape, dtype=np.float32) * np.float32(self.noise * self.norm)
            total.set(total.numpy() + noise * active[:, None])
            models.add_scaled(total, -rates / self.lot)
            self.steps += active
            self.taken = (self.taken + lots) % sizes
            left -= lots if counts_examples else active
        if not hasattr(self, "_divergences"):
            self._divergences = divergences(self.lot / sizes, self.noise)
        round.record("epsilon", epsilons(self._divergences, self.steps, self.delta))
        round.send(models)
        models.mix(round.mixing)

    def _expect_common(self, settings: Mapping[str, Any]) -> None:
        """Refuses keys of all methods that do not fit."""
        if settings["batch_size"] != 1:
            raise mf.KeyFault.value("batch_size", "1: dp_dsgd takes the gradient of each example, and `lot` says how many make a step")
        if settings["weight_decay"] != 0:
            raise mf.KeyFault.value("weight_decay", "0: dp_dsgd has none: it would be shortened with the gradient of each example")
        if settings["momentum"] != 0:
            raise mf.KeyFault.value("momentum", "0: dp_dsgd has none")
        if settings["clip_norm"] is not None:
            raise mf.KeyFault.value("clip_norm", "null: `norm` shortens the gradients of dp_dsgd, and its noise is measured by that")
        if settings["draw"] != "shuffled":
            raise mf.KeyFault.value("draw", "`shuffled`: drawn with replacement, a lot may hold an example twice, and its noise is too weak then")

    def _expect_small_lots(self, about: mf.Start) -> None:
        """Refuses lots that are too large."""
        sizes = about.shard_sizes
        fewest = int(np.argmin(sizes))
        if sizes[fewest] < self.lot:
            raise mf.KeyFault.value(
                "lot",
                f"at most {sizes[fewest]}, the examples of client {fewest}, which has the fewest: a lot holds no example twice",
            )

    def _of_examples(self, models: mf.Stack, round: mf.Round, lots: NDArray[np.int64]) -> tuple[mf.Stack, NDArray[np.float32]]:
        """The sum over the next `lots` examples of each client, `[N]`, of their gradients, each shortened to the norm; and the rates."""
        total, rates = round.gradients(models, rows=lots > 0)
        total.clip(self.norm)
        for taken in range(1, int(lots.max())):
            gradient, _ = round.gradients(models, rows=lots > taken)
            total += gradient.clip(self.norm)
        return total, rates
