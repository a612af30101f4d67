"""ProxSkip, decentralised: clients exchange models at random times, on average after 1/p local steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import meshfold as mf
from meshfold.methods._departures import BeginsAnew
from meshfold.methods._disagreement import disagreement
from meshfold.methods._no_momentum import expect_no_momentum
from meshfold.methods._rates import inverse
from meshfold.methods._same_overlay import KeepsLinks
from meshfold.methods._symmetry import NeedsSymmetry


class ProxSkip(KeepsLinks, NeedsSymmetry, BeginsAnew, mf.Method):
    """ProxSkip over an overlay. y_i is the dual variable of client i, 0 at first. A common coin falls after every local step:

        z_i = x_i - rate g_i(x_i) - y_i
        with probability p:   x_i <- sum_j v_ij z_j;  y_i <- y_i + p (z_i - x_i)
        otherwise:            x_i <- z_i

    with V = I - (I - W) / (2 chi). A round ends with an exchange: it has as many local steps as the coin says, whatever `local` says. Over
    the complete overlay with `chi: 0.5` it is Scaffnew. The weights must be symmetric. `momentum` is refused: with it, local steps would
    move a model by more than y_i in each. Clients may fail. The source has an overlay that stays. On one that changes, or whose links fail,
    differences between models may grow without bound, at any learning rate; the run warns of it. When a client is gone for good, the others
    begin anew from their models.

    Source: Mishchenko et al., ICML 2022 (arXiv 2202.09357), Algorithms 2 and 5.

    Attributes:
        p: the probability of an exchange after a local step, above 0 and at most 1.
        chi: how little an exchange averages, at least 0.5.
    """

    p: float = 0.5
    chi: float = 1.0

    def check(self, settings: Mapping[str, Any]) -> None:
        expect_no_momentum(self, settings)
        if not 0 < self.p <= 1:
            raise mf.KeyFault.value("p", "a number above 0 and at most 1")
        if not self.chi >= 0.5:
            raise mf.KeyFault.value("chi", "a number of at least 0.5")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"local_steps": about.clients / self.p}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.dual = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if self.has_lost_clients(round):
            self.dual = models.zeros_like()
        self.expect_symmetry(round)
        self.tell_of_change(round, instead="gradient_tracking and k_gt stand it")
        steps = int(np.random.default_rng([round.seed, round.number]).geometric(self.p))
        # `train` takes the rate times what it adds to gradients.
        round.train(models, steps=steps, correction=self.dual * inverse(round.learning_rates))
        round.send(models)
        apart = disagreement(models, round)
        models.add_scaled(apart, -1 / (2 * self.chi))
        self.dual.add_scaled(apart, self.p / (2 * self.chi))
