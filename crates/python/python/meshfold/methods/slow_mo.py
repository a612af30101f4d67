"""SlowMo: a slow momentum over many steps of another method."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._all_reduce import all_reduce, bytes_per_round
from meshfold.methods._rates import inverse


class SlowMo(mf.Method):
    """SlowMo over local SGD and gossip. u_i is the slow momentum of client i, 0 at first, and z_i its model after the last slow step.

    In each round:

        x_i <- sum_j w_ij (x_j after the local steps)

    In rounds H, 2H, ... after that:

        x_i <- (1/n) sum_j x_j               # with `exact`
        u_i <- beta u_i + (z_i - x_i) / rate
        x_i <- z_i - alpha rate u_i;  z_i = x_i

    With `period: 1` and `exact` it is local SGD with slow momentum. Without `exact` the clients talk to their neighbours alone; with `period: 1`,
    `alpha: 1` and `beta: 0` that is DFedAvg.

    # Interpretation
    A round with the exact mean does not gossip before, which would not change the mean. The exact mean is that of a ring all-reduce of all
    clients that take part, whatever the overlay is: each sends 2 (n - 1)/n of a model to the next client, counted as one message. The rate is
    that of the first local step since the last slow step. Momentum of the local steps begins at zero in each round. A client that is absent
    in round H makes its slow step in the next of these rounds that it takes part in.

    Source: Wang, Tantia, Ballas and Rabbat, ICLR 2020 (arXiv 1910.00643), Algorithm 1; without `exact`, its variant without exact averages.

    Attributes:
        alpha: the slow learning rate, above 0.
        beta: the slow momentum, at least 0 and below 1.
        period: H, after how many rounds a slow step comes.
        exact: whether all models are averaged before a slow step.
    """

    stacks = 7
    alpha: float = 1.0
    beta: float = 0.7
    period: int = 1
    exact: bool = True

    def check(self) -> None:
        if not self.alpha > 0:
            raise mf.KeyFault.value("alpha", "a number above 0")
        if not 0 <= self.beta < 1:
            raise mf.KeyFault.value("beta", "a number of at least 0 and below 1")
        if self.period < 1:
            raise mf.KeyFault.value("period", "a whole number of at least 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"bytes": bytes_per_round(about, self.period)} if self.exact else {}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.momentum_of_clients = models.zeros_like()
        self.slow = models.copy()
        self.rates = np.zeros(len(models), dtype=np.float32)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self.rates = np.where(self.rates > 0, self.rates, round.learning_rates)
        round.train(models)
        is_slow = round.number % self.period == 0
        if is_slow and self.exact:
            all_reduce(models, round)
        else:
            round.send(models)
            models.mix(round.mixing)
        if is_slow:
            self.step(models, round)

    def step(self, models: mf.Stack, round: mf.Round) -> None:
        """The slow step of all clients that take part."""
        rates = self.rates * round.alive
        moved = (self.slow - models) * inverse(rates)
        self.momentum_of_clients += (self.momentum_of_clients * (self.beta - 1) + moved) * round.alive
        self.slow.add_scaled(self.momentum_of_clients, -self.alpha * rates)
        clients = np.flatnonzero(round.alive)
        models.scatter(clients, self.slow.gather(clients))
        self.rates = np.where(round.alive, np.float32(0), self.rates)
