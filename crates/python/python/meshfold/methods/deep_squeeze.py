"""DeepSqueeze: clients send compressed models, and add what a message left out to the next one."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._compression import CompressedGossip, message_bytes, sending
from meshfold.methods._help import with_keys_of


@with_keys_of(CompressedGossip, "Keys of compression")
class DeepSqueeze(CompressedGossip, mf.Method):
    """DeepSqueeze. e_i is what messages of client i have left out so far, 0 at first.

        h_i = x_i after the local steps
        c_i = C(h_i + e_i)                              # the only message
        e_i <- h_i + e_i - c_i
        x_i <- h_i + gamma sum_j w_ij (c_j - c_i)

    With `compression: none` and `gamma: 1` it is D-SGD. C must be a contraction, so `qsgd` is divided by 1 + min(d/s^2, sqrt(d)/s), for
    d parameters and s = 2^(bits - 1) - 1 levels.

    Source: Tang et al., 2019 (arXiv 1907.07346), Algorithm 1.

    `gamma` must be smaller than that of CHOCO-SGD: it is .05 if absent; with `qsgd` and few bits it is smaller.
    """

    sends_models = False
    usual_gamma = 0.05

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"bytes": about.to_neighbours(message_bytes(self, about.parameters))}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        self.left_out = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        sent = self.compressed(models + self.left_out, round)
        round.send(sent)
        self.left_out += (models - sent) * sending(round)
        self.average(models, sent, round)
