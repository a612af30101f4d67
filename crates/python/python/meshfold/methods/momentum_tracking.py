"""Momentum tracking: momentum whose direction does not depend on how unlike the data of clients are."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._departures import BeginsAnew
from meshfold.methods._momentum import Momentum
from meshfold.methods._together import send_with_models


class MomentumTracking(Momentum, BeginsAnew, mf.Method):
    """Momentum tracking. u_i is the momentum of client i, c_i its correction; both are 0 at first.

        u_i <- beta u_i + g_i(x_i)
        x_i <- sum_j w_ij x_j - rate (u_i - c_i)
        c_i <- sum_j w_ij (c_j - u_j) + u_i

    A message holds two vectors, x_j and c_j - u_j. A round makes one step, whatever `local` says; `beta` takes the place of `momentum`. When a
    client is gone for good, the others begin anew from their models.

    Source: Takezawa et al., TMLR 2023 (arXiv 2209.15505), Algorithm 1, with u_i = c_i = 0 at first.

    Attributes:
        beta: the momentum, at least 0 and below 1. It takes the place of `momentum`.
    """

    stacks = 6

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"local_steps": about.clients, "bytes": 2 * about.to_neighbours(about.model_bytes)}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.momentum_of_clients = models.zeros_like()
        self.correction = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if self.has_lost_clients(round):
            self.start(models)
        gradient, rates = round.gradients(models)
        self.accumulate(self.momentum_of_clients, gradient, round)
        step = self.momentum_of_clients - self.correction
        send_with_models(models, 1, round)
        models.mix(round.mixing)
        models.add_scaled(step, -rates)
        self.correction = self.momentum_of_clients - step.mix(round.mixing)
