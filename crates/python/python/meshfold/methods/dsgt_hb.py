"""DSGT-HB: gradient tracking with heavy-ball momentum."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._departures import BeginsAnew
from meshfold.methods._momentum import Momentum
from meshfold.methods._rates import counts_steps


class DsgtHb(Momentum, BeginsAnew, mf.Method):
    """DSGT-HB. y_i tracks the mean gradient; it begins as the gradient of client i.

        x_i <- sum_j w_ij (x_j - rate y_j) + beta (x_i - x_i before)    # a message
        y_i <- sum_j w_ij (y_j + g_j(x_j) - g_j(x_j before))            # a message

    A round makes one step, whatever `local` says, and the first one takes the first gradient besides; `beta` takes the place of `momentum`.
    With `beta: 0` it is gradient tracking. The weights must be doubly stochastic. On directed overlays `beta` must be small: on a directed
    ring of eight clients models grow without bound with 0.5, at any learning rate. When a client is gone for good, the others begin anew
    from their models.

    # Interpretation
    Where the learning rate moves on with each step, a round has that of the step whose gradient is the newest in y_i, as `gradient_tracking`
    has: round t has the t-th rate of a schedule.

    Source: Gao et al., 2023, Distributed stochastic gradient tracking with momentum acceleration; Xin and Khan, IEEE Transactions on
    Automatic Control, 2020, for the deterministic method.

    Attributes:
        beta: the momentum, at least 0 and below 1. It takes the place of `momentum`.
    """

    stacks = 8
    beta: float = 0.5

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"local_steps": about.clients, "bytes": 2 * about.to_neighbours(about.model_bytes)}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.tracker = models.zeros_like()
        self.gradient = models.zeros_like()
        self.before = models.copy()
        self.newest_rates = np.zeros(len(models), dtype=np.float32)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        begins = self.has_lost_clients(round) or round.number == 1
        if begins:
            self.start(models)
        rates = round.learning_rates                     # before the first gradient
        if begins:
            self.follow(models, round)
        if counts_steps(round.settings):
            rates = self.newest_rates * round.alive
        moved = (models - self.before) * round.alive
        self.before = models.copy()
        models.add_scaled(self.tracker, -rates)
        round.send(models)
        models.mix(round.mixing)
        models.add_scaled(moved, self.beta)
        self.follow(models, round)
        round.send(self.tracker)
        self.tracker.mix(round.mixing)

    def follow(self, models: mf.Stack, round: mf.Round) -> None:
        """Adds to the trackers by how much the gradients have changed."""
        gradient, rates = round.gradients(models)
        self.newest_rates = np.where(round.alive, rates, self.newest_rates)
        change = (gradient - self.gradient) * round.alive
        self.gradient += change
        self.tracker += change
