"""Push-pull, or AB: gradient tracking on directed overlays."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._departures import BeginsAnew


class PushPull(BeginsAnew, mf.Method):
    """Push-pull. Client i pulls models by weights a_ij whose rows sum to one, and pushes trackers by weights b_ij whose columns do.

        y_i <- sum_j b_ij y_j + g_i(x_i) - g_i(x_i before)      # a message, from the second round on
        x_i <- sum_j a_ij (x_j - rate y_j)                      # a message

    y_i begins as the gradient. A receiver weighs all that it hears and itself alike, and so a sender all that it tells. The mixing weights
    of the configuration have no effect. A round makes one step, whatever `local` says. When a client is gone for good, the others begin
    anew from their models.

    Source: Pu, Shi, Xu and Nedić, IEEE Transactions on Automatic Control, 2021 (arXiv 1810.06653), Algorithm 1; Xin and Khan, IEEE Control
    Systems Letters, 2018 (AB).
    """

    mixes_by_weights = False
    stacks = 5

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"local_steps": about.clients, "bytes": 2 * about.to_neighbours(about.model_bytes)}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.tracker = models.zeros_like()
        self.gradient = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if self.has_lost_clients(round):
            self.start(models)
        gradient, rates = round.gradients(models)
        change = (gradient - self.gradient) * round.alive
        self.gradient += change
        links = np.eye(round.clients)
        senders, receivers = round.edges.T
        links[receivers, senders] = 1
        if not round.directed:
            links[senders, receivers] = 1
        if round.number > 1:
            round.send(self.tracker)
            self.tracker.mix(links / links.sum(axis=0))
        self.tracker += change
        models.add_scaled(self.tracker, -rates)
        round.send(models)
        models.mix(links / links.sum(axis=1, keepdims=True))
