"""LEAD: exact diffusion with compressed messages, exact on any data."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods import _compression
from meshfold.methods._blocks import message_bytes, rounded
from meshfold.methods._compression import Compressed, sending
from meshfold.methods._departures import BeginsAnew
from meshfold.methods._disagreement import disagreement
from meshfold.methods._help import with_keys_of
from meshfold.methods._rates import inverse
from meshfold.methods._same_overlay import KeepsCopies
from meshfold.methods._symmetry import NeedsSymmetry


@with_keys_of(Compressed, "Keys of compression")
class Lead(Compressed, KeepsCopies, NeedsSymmetry, BeginsAnew, mf.Method):
    """LEAD. H is what neighbours know of each other, D the dual variable; both are 0 at first.

        Y = X - rate g - rate D
        S = H + C(Y - H)                                # C is the message
        H <- (1 - alpha) H + alpha S
        D <- D + gamma / (2 rate) (I - W) S
        X <- X - rate g - rate D                        # the same g

    With `compression: none`, `alpha: 1` and `gamma: 1` it is NIDS. A round makes one step, whatever `local` says. The weights must be
    symmetric. The overlay must not change, and links must not fail for a while: a client that begins to listen would lack H, and the run
    ends with an error. Clients may fail and the learning rate may change: the sum of all D stays 0. It needs a compression that is right in
    the mean: with `top_k` it may diverge. When a client is gone for good, the others begin anew from their models.

    # Interpretation
    `qsgd` rounds blocks of 512 parameters here, as the paper does, each by its largest magnitude: see `_blocks.py`. It is right in the mean,
    and divided by nothing, as it is in methods that need a contraction. With one norm for a whole model, as there, 4 bits are too coarse for
    `alpha: 0.5`: it diverges even in logistic regression. A message has `bits` bits for each parameter and 32 for each block, rounded up to
    whole bytes. A client that takes no part keeps X, D and H. When it is back, it gets what it missed of H from its neighbours, which is
    not counted.

    Source: Liu et al., ICLR 2021 (arXiv 2007.00232), Algorithm 1.

    Attributes:
        gamma: the step of the dual variable, above 0.
        alpha: how far what is known moves in a round, above 0 and at most 1.
    """

    sends_models = False
    # Three of them are arrays of NumPy in which messages are rounded.
    stacks = 11
    compression = "qsgd"
    gamma: float = 1.0
    alpha: float = 0.5

    def check(self) -> None:
        super().check()
        if not self.gamma > 0:
            raise mf.KeyFault.value("gamma", "a number above 0")
        if not 0 < self.alpha <= 1:
            raise mf.KeyFault.value("alpha", "a number above 0 and at most 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        is_rounded = self.compression == "qsgd"
        sent = message_bytes(about.parameters, self.bits) if is_rounded else _compression.message_bytes(self, about.parameters)
        return {"local_steps": about.clients, "bytes": about.to_neighbours(sent)}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.known = models.zeros_like()
        self.dual = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        if self.has_lost_clients(round):
            self.dual = models.zeros_like()
        self.expect_symmetry(round)
        self.expect_copies(round, instead="gradient_tracking and k_gt stand")
        gradient, rates = round.gradients(models)
        models.add_scaled(gradient, -rates)
        ahead = models.copy().add_scaled(self.dual, -rates)
        difference = self.compressed(ahead - self.known, round)
        if self.compression == "qsgd":
            round.send(bytes=message_bytes(difference.shape[1], self.bits))
        else:
            round.send(difference)
        told = self.known + difference
        self.known.add_scaled(difference, self.alpha)
        # The dual variable enters the step as rate * D: a client that takes no part has rate 0, and told rows that W leaves alone.
        self.dual.add_scaled(disagreement(told, round), self.gamma / 2 * inverse(rates))
        models.add_scaled(self.dual, -rates)

    def compressed(self, stack: mf.Stack, round: mf.Round) -> mf.Stack:
        if self.compression != "qsgd":
            return super().compressed(stack, round)
        messages = stack.numpy()
        if not np.isfinite(messages).all():
            client = np.flatnonzero(~np.isfinite(messages).all(axis=1))[0]
            raise ValueError(
                f"{self.name}: the message of client {client} became infinite or NaN in round {round.number}: lower the learning rate or "
                "`gamma`, or give more `bits`"
            )
        stack.set(rounded(messages, self.bits, np.random.default_rng([round.seed, round.number])))
        stack *= sending(round)
        return stack
