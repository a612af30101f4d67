"""DecentLaM: momentum that does not amplify the bias of D-SGD on unlike data."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._momentum import Momentum
from meshfold.methods._rates import inverse
from meshfold.methods._same_overlay import KeepsLinks
from meshfold.methods._symmetry import NeedsSymmetry


class DecentLam(Momentum, KeepsLinks, NeedsSymmetry, mf.Method):
    """DecentLaM. m_i is the momentum of client i, 0 at first.

        d_i = (x_i - sum_j w_ij (x_j - rate g_j(x_j))) / rate
        m_i <- beta m_i + d_i
        x_i <- x_i - rate m_i

    A round makes one step, whatever `local` says; `beta` takes the place of `momentum`. With `beta: 0` it is D-SGD. The
    weights must be symmetric. The source has an overlay that stays. On one that changes, or whose links fail, differences between models may
    grow without bound, at any learning rate; the run warns of it.

    Source: Yuan et al., ICCV 2021 (arXiv 2104.11981), Algorithm 2.

    Attributes:
        beta: the momentum, at least 0 and below 1. It takes the place of `momentum`.
    """

    name = "decentlam"
    stacks = 7

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"local_steps": about.clients}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.momentum_of_clients = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self.expect_symmetry(round)
        self.tell_of_change(round, instead="momentum_tracking stands it")
        gradient, rates = round.gradients(models)
        mixed = models.copy().add_scaled(gradient, -rates)
        round.send(mixed, models=True)
        mixed.mix(round.mixing)
        direction = (models - mixed) * inverse(rates)
        self.accumulate(self.momentum_of_clients, direction, round)
        models.add_scaled(self.momentum_of_clients, -rates)
