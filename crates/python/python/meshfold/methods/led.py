"""LED, local exact diffusion: many local steps between two exchanges, exact on any data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import meshfold as mf
from meshfold.methods._departures import BeginsAnew
from meshfold.methods._disagreement import disagreement
from meshfold.methods._no_momentum import expect_no_momentum
from meshfold.methods._rates import inverse
from meshfold.methods._same_overlay import KeepsLinks
from meshfold.methods._symmetry import NeedsSymmetry


class Led(KeepsLinks, NeedsSymmetry, BeginsAnew, mf.Method):
    """LED. y_i is the dual variable of client i, 0 at first.

        p = x_i;  K times: p <- p - rate g_i(p) - y_i / K
        x_i <- p_i / 2 + sum_j w_ij p_j / 2             # one message
        y_i <- y_i + p_i - x_i

    K is the number of local steps of the configuration. With one it is exact diffusion. The weights must be symmetric. `momentum` is
    refused: with it, local steps would move a model by more than y_i. Clients may fail. The source has an overlay that stays. On one that
    changes, or whose links fail, differences between models may grow without bound, at any learning rate; the run warns of it. When a
    client is gone for good, the others begin anew from their models.

    Source: Alghunaim, Local Exact-Diffusion, IEEE Transactions on Automatic Control, 2024 (doi 10.1109/TAC.2024.3383271).
    """

    def check(self, settings: Mapping[str, Any]) -> None:
        expect_no_momentum(self, settings)

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.dual = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if self.has_lost_clients(round):
            self.dual = models.zeros_like()
        self.expect_symmetry(round)
        self.tell_of_change(round, instead="gradient_tracking and k_gt stand it")
        # `train` takes the rate times what it adds to gradients.
        per_step = inverse(round.local_steps * round.learning_rates)
        round.train(models, correction=self.dual * per_step)
        round.send(models)
        apart = disagreement(models, round)
        models.add_scaled(apart, -0.5)
        self.dual.add_scaled(apart, 0.5)
