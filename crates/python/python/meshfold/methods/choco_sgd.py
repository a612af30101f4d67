"""CHOCO-SGD: clients send compressed differences to copies of their models that all neighbours keep."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._compression import CompressedGossip, message_bytes
from meshfold.methods._help import with_keys_of
from meshfold.methods._same_overlay import KeepsCopies


@with_keys_of(CompressedGossip, "Keys of compression")
class ChocoSgd(CompressedGossip, KeepsCopies, mf.Method):
    """CHOCO-SGD. All neighbours of client i keep the same copy c_i of its model, so one stack holds all copies, 0 at first.

        h_i = x_i after the local steps
        q_i = C(h_i - c_i)                              # the only message
        c_i <- c_i + q_i
        x_i <- h_i + gamma sum_j w_ij (c_j - c_i)

    With `compression: none` and `gamma: 1` it is D-SGD. C must be a contraction, so `qsgd` is divided by 1 + min(d/s^2, sqrt(d)/s), for
    d parameters and s = 2^(bits - 1) - 1 levels. The overlay must not change, and links must not fail for a while: a client that
    begins to listen would lack the copies, and the run ends with an error. Clients may fail.

    # Interpretation
    Copies of a client that takes no part stay. When one is back, it gets the copies that it missed from its neighbours, which is not counted.

    Source: Koloskova, Stich and Jaggi, ICML 2019 (arXiv 1902.00340), Algorithm 2; with local steps and momentum, Koloskova et al., ICLR
    2020 (arXiv 1907.09356).

    `gamma` is .4 if absent; with `qsgd` and few bits it is smaller.
    """

    sends_models = False

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"bytes": about.to_neighbours(message_bytes(self, about.parameters))}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.copies = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self.expect_copies(round, instead="deep_squeeze stands")
        round.train(models)
        difference = self.compressed(models - self.copies, round)
        round.send(difference)
        self.copies += difference
        self.average(models, self.copies, round)
