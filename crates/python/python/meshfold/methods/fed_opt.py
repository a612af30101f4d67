"""FedOpt: a server that takes adaptive steps along the mean of what clients have learned."""

from __future__ import annotations

from typing import Literal

import numpy as np

import meshfold as mf
from meshfold.methods._effects import expect_effect


class FedOpt(mf.Method):
    """FedOpt: FedAdam, FedYogi, FedAdagrad and FedAvgM. There is a server and no overlay: drop `topology`. All rows are the server's model x.

        a share of the clients is drawn, S; each gets x and makes its local steps on it: y_i = x - eta g_i(x) - ...
        D = sum over S of p_i (y_i - x)
        `momentum`:  m <- beta1 m + D                   x <- x + server_rate m
        the others:  m <- beta1 m + (1 - beta1) D       x <- x + server_rate m / (sqrt(v) + tau), for each parameter, with
            `adagrad`:  v <- v + D^2
            `yogi`:     v <- v - (1 - beta2) D^2 sign(v - D^2)
            `adam`:     v <- beta2 v + (1 - beta2) D^2

    m is 0 at first and v is tau^2. p_i is n_i over the examples of S, or 1/|S| with `weighting: uniform`. A message is a whole model in either
    direction.

    # Interpretation
    The moments are not corrected for their start, as in the paper. Clients that take no part are not drawn. With `momentum: 0.9` the clients have
    momentum, too, which begins at zero in each round.

    Source: Reddi, Charles, Zaheer, Garrett, Rush, Konecny, Kumar and McMahan, ICLR 2021 (arXiv 2003.00295), Algorithm 2, with n_i as in its
    Algorithm 5; `momentum` from Hsu, Qi and Brown, 2019 (arXiv 1909.06335).

    Attributes:
        optimizer: how the server steps.
        share: how many of the clients are drawn in each round, at least one.
        server_rate: the server's learning rate. FedAvg is `momentum` with the rate 1 and `beta1: 0`.
        beta1: how much of the momentum stays, at least 0 and below 1.
        beta2: how much of the second moment stays, at least 0 and below 1; without effect with `momentum` and `adagrad`.
        tau: how adaptive the step is: the smaller, the more; above 0. Without effect with `momentum`.
        weighting: `examples` or `uniform`.
    """

    overlay = False
    server = True
    stacks = 4
    optimizer: Literal["adam", "yogi", "adagrad", "momentum"] = "adam"
    share: float = 1.0
    server_rate: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3
    weighting: Literal["examples", "uniform"] = "examples"

    def check(self) -> None:
        for key in ("beta1", "beta2"):
            if not 0 <= getattr(self, key) < 1:
                raise mf.KeyFault.value(key, "a number of at least 0 and below 1")
        if not 0 < self.share <= 1:
            raise mf.KeyFault.value("share", "a number above 0 and at most 1")
        for key in ("server_rate", "tau"):
            if not 0 < getattr(self, key) <= 1e3:
                raise mf.KeyFault.value(key, "a number above 0 and at most 1000")
        for key, optimizers in (("beta2", ("adam", "yogi")), ("tau", ("adam", "yogi", "adagrad"))):
            needed = f"`optimizer: adam` beside it: it has no effect with `{self.optimizer}`"
            expect_effect(self, key, self.optimizer in optimizers, needed)

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        drawn = max(1, round(self.share * about.clients))
        return {"bytes": 2 * drawn * about.model_bytes, "local_steps": about.local_steps.mean() * drawn}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        server = models.gather([0])
        models.set(server.gather(np.zeros(len(models), int)))
        self.first = server.zeros_like()
        self.second = server.zeros_like()
        self.second.set(np.full_like(server.numpy(padded=True), self.tau**2))

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        there = np.flatnonzero(round.alive)
        if there.size == 0:
            return
        count = min(len(there), max(1, int(np.floor(self.share * len(there) + 0.5))))
        drawn = np.sort(np.random.default_rng([round.seed, round.number]).choice(there, count, replace=False))
        round.send(models, from_="server", to=drawn)
        trained = models.gather(drawn)
        round.train(trained, clients=drawn)
        round.send(trained, from_=drawn, to="server")
        sizes = round.shard_sizes[drawn] if self.weighting == "examples" else np.ones(count)
        server = models.gather([0])
        server += self.step(trained.mean(sizes / sizes.sum()) - server) * self.server_rate
        models.set(server.gather(np.zeros(round.clients, int)))

    def step(self, change: mf.Stack) -> mf.Stack:
        """The server's step along the mean `change` of the clients, once the moments have taken it in."""
        if self.optimizer == "momentum":
            self.first = self.first * self.beta1 + change
            return self.first
        self.first += (change - self.first) * (1 - self.beta1)
        square = np.square(change.numpy(padded=True))
        second = self.second.numpy(padded=True)
        if self.optimizer == "adagrad":
            second = second + square
        elif self.optimizer == "yogi":
            second = second - np.float32(1 - self.beta2) * square * np.sign(second - square)
        else:
            second = second + np.float32(1 - self.beta2) * (square - second)
        self.second.set(second)
        step = change.copy()
        step.set(self.first.numpy(padded=True) / (np.sqrt(second) + np.float32(self.tau)))
        return step
