"""Gossip-PGA: gossip averaging, and now and then the exact mean of all models."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._all_reduce import all_reduce, bytes_per_round


class GossipPga(mf.Method):
    """Gossip-PGA. All clients average their models exactly every H rounds, and with their neighbours in the others.

        h_i = x_i after the local steps
        x_i <- (1/n) sum_j h_j     in rounds H, 2H, ...
        x_i <- sum_j w_ij h_j      in the others

    The paper makes one step in each round: `local: {steps: 1}`. With a `period` longer than the run it is DFedAvg.

    # Interpretation
    The exact mean is that of a ring all-reduce of all clients that take part, whatever the overlay is: each sends 2 (n - 1)/n of a model to
    the next client, counted as one message. Momentum begins at zero in each round.

    Source: Chen, Yuan, Zhang, Pan, Xu and Yin, ICML 2021 (arXiv 2105.09080), Algorithm 1.

    Attributes:
        period: H, every how many rounds all models are averaged.
    """

    period: int = 6

    def check(self) -> None:
        if self.period < 1:
            raise mf.KeyFault.value("period", "a whole number of at least 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"bytes": bytes_per_round(about, self.period)}

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        if round.number % self.period == 0:
            all_reduce(models, round)
        else:
            round.send(models)
            models.mix(round.mixing)
