"""EXTRA: exact on any data with a constant learning rate, by the difference of two gradients."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._disagreement import disagreement
from meshfold.methods._same_overlay import KeepsWeights
from meshfold.methods._symmetry import NeedsSymmetry


class Extra(KeepsWeights, NeedsSymmetry, mf.Method):
    """EXTRA, with V = (I + W) / 2. In the first round x_i <- sum_j w_ij x_j - rate g_i(x_i), and after it

        x_i <- x_i + sum_j w_ij x_j - sum_j v_ij (x_j before) - rate (g_i(x_i) - g_i(x_i before))

    A message is a model. A round makes one step, whatever `local` says. The weights must be symmetric. Old and new averages and gradients
    cancel only if the overlay, its weights and the learning rate stay, and if all clients take part in all rounds; otherwise the run ends
    with an error.

    # Interpretation
    The code has the sum of the lines of all rounds. It is the same but for rounding, which does not add up: see `_disagreement.py`.

        x_i <- sum_j w_ij x_j - rate g_i(x_i) - y_i                     # y_i is 0 at first
        y_i <- y_i + (x_i before - sum_j w_ij (x_j before)) / 2

    Source: Shi, Ling, Wu and Yin, SIAM Journal on Optimization, 2015 (arXiv 1404.6264), Algorithm 1 with the weights of (2.10).
    """

    stacks = 5

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"local_steps": about.clients}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.dual = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self.expect_symmetry(round)
        gradient, rates = round.gradients(models)
        self.expect_weights(round, rates)
        round.send(models)
        apart = disagreement(models, round)
        models -= apart
        models.add_scaled(gradient, -rates)
        models -= self.dual
        self.dual.add_scaled(apart, 0.5)
