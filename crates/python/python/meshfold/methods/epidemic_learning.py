"""Epidemic learning: every client sends its model to a few clients at random, and averages with whatever came."""

from __future__ import annotations

import math

import numpy as np

import meshfold as mf


class EpidemicLearning(mf.Method):
    """EL-Local. In each round client i sends its model to s others, drawn without replacement.

        h_i = x_i after the local steps
        x_i <- (h_i + sum of h_j over F_i) / (|F_i| + 1),    F_i: the clients that drew i

    F_i may be empty. There is no overlay: drop `topology`. EL-Oracle, with a random regular graph in each round, is `dfedavg` with
    `topology: {redraw: {of: {regular: {degree: s}}}}`.

    # Interpretation
    Clients draw among those that take part.

    Source: de Vos, Farhadkhani, Guerraoui, Kermarrec, Pires and Sharma, NeurIPS 2023 (arXiv 2310.01972), Algorithm 1 with EL-Local.

    Attributes:
        receivers: s, how many clients each client sends to; all others if there are fewer. If absent, log2 of the number of clients,
            rounded up.
    """

    overlay = False
    receivers: int | None = None

    def check(self) -> None:
        if self.receivers is not None and self.receivers < 1:
            raise mf.KeyFault.value("receivers", "a whole number of at least 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        receivers = min(self.receivers or math.ceil(math.log2(about.clients)), about.clients - 1)
        return {"bytes": about.clients * receivers * about.model_bytes}

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        draws = np.random.default_rng([round.seed, round.number])
        alive = np.flatnonzero(round.alive)
        receivers = self.receivers or math.ceil(math.log2(round.clients))
        drawn = [draws.choice(alive[alive != sender], min(receivers, len(alive) - 1), replace=False) for sender in alive]
        edges = np.stack([np.repeat(alive, [len(some) for some in drawn]), np.concatenate([*drawn, []]).astype(int)], axis=1)
        round.send(models, edges=edges)
        weights = np.eye(round.clients)
        weights[edges[:, 1], edges[:, 0]] = 1
        models.mix(weights / weights.sum(axis=1, keepdims=True))
