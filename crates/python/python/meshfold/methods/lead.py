"""LEAD: exact diffusion with compressed messages, exact on any data."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._compression import Compressed
from meshfold.methods._rates import inverse


class Lead(Compressed, mf.Method):
    """LEAD. H is what neighbours know of each other, D the dual variable; both are 0 at first.

        Y = X - rate g - rate D
        S = H + C(Y - H)                                # C is the message
        H <- (1 - alpha) H + alpha S
        D <- D + gamma / (2 rate) (I - W) S
        X <- X - rate g - rate D                        # the same g

    With `compression: none`, `alpha: 1` and `gamma: 1` it is NIDS. A round makes one step, whatever `local` says. The overlay and the
    learning rate must not change. It needs a compression that is right in the mean: with `top_k` it may diverge.

    Source: Liu et al., ICLR 2021 (arXiv 2007.00232), Algorithm 1.

    Attributes, besides those of `Compressed`:
        gamma: the step of the dual variable, above 0.
        alpha: how far what is known moves in a round, above 0 and at most 1.
    """

    stacks = 8
    compression = "qsgd"
    gamma: float = 1.0
    alpha: float = 0.5

    def check(self) -> None:
        super().check()
        if not self.gamma > 0:
            raise mf.KeyFault.value("gamma", "a number above 0")
        if not 0 < self.alpha <= 1:
            raise mf.KeyFault.value("alpha", "a number above 0 and at most 1")

    def start(self, models: mf.Stack) -> None:
        self.known = models.zeros_like()
        self.dual = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        gradient, rates = round.gradients(models)
        models.add_scaled(gradient, -rates)
        ahead = models.copy().add_scaled(self.dual, -rates)
        difference = self.compressed(ahead - self.known, round)
        round.send(difference)
        told = self.known + difference
        self.known.add_scaled(difference, self.alpha)
        # The dual variable enters the step as rate * D: a client that takes no part has rate 0, and told rows that W leaves alone.
        disagreement = told - told.copy().mix(round.mixing)
        self.dual.add_scaled(disagreement, self.gamma / 2 * inverse(rates))
        models.add_scaled(self.dual, -rates)
