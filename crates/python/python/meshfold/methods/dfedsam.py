"""DFedSAM: local steps that seek flat minima."""

from __future__ import annotations

import numpy as np

import meshfold as mf


class DFedSam(mf.Method):
    """DFedSAM. A local step takes two gradients on one mini-batch, the second one at the worst model near by:

        e = rho g_i(y) / |g_i(y)|
        y <- y - rate g_i(y + e)

    After the local steps, models are mixed Q times in a row (multiple gossip steps), each time with messages. With `rho: 0` and Q = 1 it is
    DFedAvg. `momentum` has no effect.

    Source: Shi et al., ICML 2023 (arXiv 2302.04083), Algorithm 1.

    Attributes:
        rho: the radius in which the worst model is sought, at least 0.
        gossip_steps: Q, how often models are mixed in a round.
    """

    name = "dfedsam"
    rho: float = 0.01
    gossip_steps: int = 1

    def check(self) -> None:
        if not self.rho >= 0:
            raise mf.KeyFault.value("rho", "a number of at least 0")
        if self.gossip_steps < 1:
            raise mf.KeyFault.value("gossip_steps", "a whole number of at least 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        sent = self.gossip_steps * about.to_neighbours(about.model_bytes)
        return {"local_steps": 2 * int(about.local_steps.sum()), "bytes": sent}

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        steps = round.local_steps
        for step in range(steps.max()):
            active = step < steps
            gradient, rates = round.gradients(models, rows=active)
            norms = gradient.norms()
            worst = models.copy().add_scaled(gradient, self.rho / np.where(norms > 0, norms, 1))
            gradient, _ = round.gradients(worst, same_batches=True, rows=active)
            models.add_scaled(gradient, -rates)
        for _ in range(self.gossip_steps):
            round.send(models)
            models.mix(round.mixing)
