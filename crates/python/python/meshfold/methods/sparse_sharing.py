"""Sparse sharing: clients send random parts of their models."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._divergence import has_diverged


class SparseSharing(mf.Method):
    """Random subsampling. m_j has a one for each parameter that client j sends, each with probability `keep`.

        h_i = x_i after the local steps
        x_i <- sum_j w_ij (m_j * h_j + (1 - m_j) * h_i)

    Receivers fill what they did not get with their own parameters. A message holds the parameters and a seed of 8 bytes, by which receivers
    draw m_j again. With `keep: 1` it is D-SGD. The overlay may change from round to round.

    Source: the baseline "random subsampling" of decentralizepy (Dhasade et al., EuroMLSys 2023, arXiv 2304.08322, Section 3).

    Attributes:
        keep: the probability of a parameter to be sent, above 0 and at most 1.
    """

    sends_models = False
    keep: float = 0.1

    def check(self) -> None:
        if not 0 < self.keep <= 1:
            raise mf.KeyFault.value("keep", "a number above 0 and at most 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"bytes": about.to_neighbours(self.keep * about.model_bytes + 8)}

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        if has_diverged(models):
            return
        draws = np.random.default_rng([round.seed, round.number])
        rows, parameters = models.shape
        masks = np.empty((rows, parameters), dtype=bool)
        for mask in masks:
            np.less(draws.random(parameters, dtype=np.float32), self.keep, out=mask)
        round.send(bytes=4 * masks.sum(axis=1) + 8)
        weights = round.mixing.numpy().astype(np.float32)
        trained = models.numpy()
        mixed = trained.copy()
        for client, other in np.argwhere(weights):
            mixed[client] += weights[client, other] * masks[other] * (trained[other] - trained[client])
        models.set(mixed)
