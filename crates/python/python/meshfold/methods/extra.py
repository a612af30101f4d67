"""EXTRA: exact on any data with a constant learning rate, by the difference of two gradients."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._same_overlay import KeepsWeights


class Extra(KeepsWeights, mf.Method):
    """EXTRA, with V = (I + W) / 2. In the first round x_i <- sum_j w_ij x_j - rate g_i(x_i), and after it

        x_i <- x_i + sum_j w_ij x_j - sum_j v_ij (x_j before) - rate (g_i(x_i) - g_i(x_i before))

    A message is a model: receivers keep what they averaged the round before. A round makes one step, whatever `local` says. Old and new
    averages and gradients cancel only if the overlay, its weights and the learning rate stay, and if all clients take part in all rounds;
    otherwise the run ends with an error.

    Source: Shi, Ling, Wu and Yin, SIAM Journal on Optimization, 2015 (arXiv 1404.6264), Algorithm 1 with the weights of (2.10).
    """

    stacks = 7

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.before = models.zeros_like()
        self.mixed_before = models.zeros_like()
        self.gradient = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        gradient, rates = round.gradients(models)
        self.expect_weights(round, rates)
        mixed = models.copy().mix(round.mixing)
        round.send(models)
        old = models.copy()
        if round.number > 1:
            models.add_scaled(self.before + self.mixed_before, -0.5)
            models += mixed
        else:
            models.set(mixed)
        models.add_scaled(gradient - self.gradient, -rates)
        self.before, self.mixed_before, self.gradient = old, mixed, gradient
