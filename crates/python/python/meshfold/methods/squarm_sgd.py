"""SQuARM-SGD: CHOCO-SGD with Nesterov's momentum whose clients send only if their models have changed enough."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods._compression import CompressedGossip, message_bytes, sending
from meshfold.methods._help import with_keys_of
from meshfold.methods._same_overlay import KeepsCopies


@with_keys_of(CompressedGossip, "Keys of compression")
class SquarmSgd(CompressedGossip, KeepsCopies, mf.Method):
    """SQuARM-SGD. As in CHOCO-SGD, one stack holds the copies c_i that neighbours keep, 0 at first.

        v_i <- b v_i + g_i(x_i);   x_i <- x_i - eta (b v_i + g_i(x_i))       # the local steps
        q_i = C(x_i - c_i)   if |x_i - c_i|^2 > c_t eta^2,   else 0          # the only message; none if it is 0
        c_i <- c_i + q_i
        x_i <- x_i + gamma sum_j w_ij (c_j - c_i)

    C and the usual `gamma` are those of CHOCO-SGD. With `threshold: 0` and no momentum it is CHOCO-SGD; with one step a round, SPARQ-SGD
    has no momentum either. The overlay must not change, and links must not fail for a while: a client that begins to listen would lack the
    copies, and the run ends with an error. Clients may fail. Each round records `sending`, the share of clients that send, of those that
    take part.

    # Interpretation
    Copies of a client that takes no part stay. When one is back, it gets the copies that it missed from its neighbours, which is not counted.
    c_t = c t^p, for the t-th round; the theory wants p below 1. eta is the learning rate of the first step of the round. v_i goes on from
    round to round. `momentum` is b, and Nesterov's whether `nesterov` is true or not.

    Source: Singh, Data, George and Diggavi, IEEE Journal on Selected Areas in Information Theory 2021 (arXiv 2005.07041), Algorithm 1.

    Attributes:
        threshold: c, at least 0.
        growth: p, at least 0.
    """

    sends_models = False
    threshold: float = 1.0
    growth: float = 0.0

    def check(self) -> None:
        super().check()
        if not self.threshold >= 0:
            raise mf.KeyFault.value("threshold", "a number of at least 0")
        if not self.growth >= 0:
            raise mf.KeyFault.value("growth", "a number of at least 0")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"bytes": about.to_neighbours(message_bytes(self, about.parameters))}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.copies = models.zeros_like()
        self.velocity = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self.expect_copies(round, instead="deep_squeeze stands")
        least = self.threshold * round.number**self.growth * round.learning_rates.astype(float) ** 2
        self._descend(models, round)
        difference = models - self.copies
        sends = sending(round) & (difference.norms() ** 2 > least)
        difference = self.compressed(difference, round) * sends
        edges = round.edges if round.directed else np.concatenate([round.edges, round.edges[:, ::-1]])
        round.send(difference, edges=edges[sends[edges[:, 0]]])
        round.record("sending", sends.sum() / max(1, round.alive.sum()))
        self.copies += difference
        self.average(models, self.copies, round)

    def _descend(self, models: mf.Stack, round: mf.Round) -> None:
        """The local steps, with Nesterov's momentum."""
        momentum, steps = round.settings["momentum"], round.local_steps
        for step in range(int(steps.max())):
            moving = step < steps
            gradients, rates = round.gradients(models, rows=moving)
            self.velocity *= np.where(moving, momentum, 1)
            self.velocity += gradients
            models.add_scaled(gradients, -rates).add_scaled(self.velocity, -rates * momentum)
