"""GT-HSGD: gradient tracking of recursive gradients with less noise."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._departures import BeginsAnew


class GtHsgd(BeginsAnew, mf.Method):
    """GT-HSGD. v_i estimates the gradient of client i, y_i that of all clients; b is the mini-batch of the round.

        v_i <- g_i(x_i; b) + (1 - beta) (v_i - g_i(x_i before; b))
        y_i <- sum_j w_ij (y_j + v_j - v_j before)      # a message
        x_i <- sum_j w_ij (x_j - rate y_j)              # a message

    In the first round v_i is the gradient. A round makes one step, whatever `local` says, and takes two gradients. When a client is gone
    for good, the others begin anew from their models.

    Source: Xin, Khan and Kar, ICML 2021 (arXiv 2102.06752), Algorithm 1.

    Attributes:
        beta: the weight of the new gradient alone, from 0 to 1. With 1 it is gradient tracking.
    """

    stacks = 7
    beta: float = 0.1

    def check(self) -> None:
        if not 0 <= self.beta <= 1:
            raise mf.KeyFault.value("beta", "a number from 0 to 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"local_steps": 2 * about.clients, "bytes": 2 * about.to_neighbours(about.model_bytes)}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.before = models.copy()
        self.estimate = models.zeros_like()
        self.tracker = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        begins = self.has_lost_clients(round) or round.number == 1
        if begins:
            self.start(models)
        estimate, rates = round.gradients(models)
        if not begins:
            gradient_before, _ = round.gradients(self.before, same_batches=True)
            estimate.add_scaled(self.estimate - gradient_before, 1 - self.beta)
        self.before = models.copy()
        change = (estimate - self.estimate) * round.alive
        self.estimate += change
        self.tracker += change
        round.send(self.tracker)
        self.tracker.mix(round.mixing)
        models.add_scaled(self.tracker, -rates)
        round.send(models)
        models.mix(round.mixing)
