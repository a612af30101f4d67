"""DP-D-SGD: D-SGD whose local steps are differentially private, with an account of the privacy that is spent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._privacy import divergences, epsilons


class DpDsgd(mf.Method):
    """Local steps of DP-SGD, then an average over neighbours. A local step of client i takes L examples of its own:

        g = (1/L) (sum_s g_s min(1, C/|g_s|) + sigma C N(0, I))          # g_s: the gradient of example s alone
        x_i <- x_i - rate g

    `batch_size` must be 1, as a gradient is taken for each example. It counts as a local step in records and in simulated time, so that a
    step of the method is L of theirs. `momentum` has no effect. With `noise: 0` and a large `norm` it is DFedAvg with batches of L examples.

    Each round records `epsilon`, the spread over clients of the privacy that each has spent so far: its examples are (epsilon, delta)
    differentially private toward everybody who sees all of its messages, its neighbours for instance, or all of them together. Without
    noise nothing bounds it, and there is no figure.

    # Interpretation
    The account is that of the sampled Gaussian mechanism, for examples that are drawn independently with the probability L / n_i (Poisson
    sampling), where examples are neighbours if one is added or removed. The examples of this simulation are shuffled and taken in turn, as
    libraries for deep learning do that state the same account. The noise comes from a generator for simulations, not for secrets.

    Source: Abadi et al., CCS 2016 (arXiv 1607.00133), Algorithm 1; the account is by Mironov, Talwar and Zhang, 2019 (arXiv 1908.10530),
    Section 3.3.

    Attributes:
        lot: L, the examples of a step.
        norm: C, the largest norm of the gradient of an example.
        noise: sigma, the deviation of the noise as a multiple of C.
        delta: the probability with which privacy may fail.
    """

    lot: int = 20
    norm: float = 1.0
    noise: float = 1.0
    delta: float = 1e-5

    def check(self) -> None:
        if self.lot < 1:
            raise mf.KeyFault.value("lot", "a whole number of at least 1")
        if not self.norm > 0:
            raise mf.KeyFault.value("norm", "a number above 0")
        if not self.noise >= 0:
            raise mf.KeyFault.value("noise", "a number of at least 0")
        if not 0 < self.delta < 1:
            raise mf.KeyFault.value("delta", "a number above 0 and below 1")

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.steps = np.zeros(len(models))

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self._check_common(round)
        steps = round.local_steps
        generator = np.random.default_rng([round.seed, round.number])
        for step in range(int(steps.max())):
            active = step < steps
            total, rates = self._of_examples(models, round, active)
            noise = generator.standard_normal(models.shape, dtype=np.float32) * np.float32(self.noise * self.norm)
            total.set(total.numpy() + noise * active[:, None])
            models.add_scaled(total, -rates / self.lot)
        self.steps += steps
        if not hasattr(self, "_divergences"):
            shares = np.minimum(1, self.lot / np.maximum(1, round.shard_sizes))
            self._divergences = divergences(shares, self.noise)
        with_examples = np.where(round.shard_sizes > 0, self.steps, 0)
        round.record("epsilon", epsilons(self._divergences, with_examples, self.delta))
        round.send(models)
        models.mix(round.mixing)

    def _check_common(self, round: mf.Round) -> None:
        if round.settings["batch_size"] != 1:
            raise ValueError("batch_size: dp_dsgd takes the gradient of each example: it must be 1, and `lot` says how many make a step")
        if round.settings["weight_decay"] != 0:
            raise ValueError("weight_decay: dp_dsgd has none: it would be shortened with the gradient of each example")

    def _of_examples(self, models: mf.Stack, round: mf.Round, active: NDArray[np.bool_]) -> tuple[mf.Stack, NDArray[np.float32]]:
        """The sum over the examples of a step of their gradients, each shortened to the norm; and the rates of the step."""
        total, rates = round.gradients(models, rows=active)
        total.clip(self.norm)
        for _ in range(self.lot - 1):
            gradient, _ = round.gradients(models, rows=active)
            total += gradient.clip(self.norm)
        return total, rates
