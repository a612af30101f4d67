"""DFedAlt: clients share some layers of their models and keep the others."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods import _private_layers
from meshfold.methods._divergence import has_diverged
from meshfold.methods._effects import expect_effect


class DfedAlt(mf.Method):
    """DFedAlt. The parameters of client i are shared ones u_i, which are averaged, and private ones v_i, which never leave it.

        v_i <- v_i - eta g_i(u_i, v_i)  on v alone, k times
        u_i <- u_i - eta g_i(u_i, v_i)  on u alone, the local steps
        u_i <- sum_j w_ij u_j           # the only message: 4 bytes for each shared parameter

    With `private_steps: 0` both blocks move together in the local steps: FedPer over gossip. With `private: []`, too, it is
    DFedAvg. `evaluate: {local_test: 0.2}` judges how well models fit their own clients.

    # Interpretation
    Momentum begins at zero in each of the two phases. Stragglers make fewer steps in both.

    Source: Shi, Liu, Sun, Lin, Shen, Wang and Tao, 2023 (arXiv 2305.15157). FedPer: Arivazhagan et al., 2019 (arXiv
    1912.00818).

    Attributes:
        private: the layers that clients keep, by the names that `models.by_layer()` has, or `last`, the last one with its bias.
        private_steps: k, the steps on the private layers in a round.
    """

    sends_models = False
    private: list[str] | str = "last"
    private_steps: int = 5

    def check(self) -> None:
        _private_layers.check(self.private)
        if self.private_steps < 0:
            raise mf.KeyFault.value("private_steps", "a whole number of at least 0")
        expect_effect(self, "private_steps", self.private != [] or self.private_steps == 0, "layers in `private` beside it: none are private")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        steps = int(about.local_steps.sum()) + self.private_steps * about.clients
        return {"local_steps": steps, "bytes": about.to_neighbours(_private_layers.planned_bytes(self.private, about))}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        _private_layers.expect_shared(self, self.private, models)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        blocks = _private_layers.blocks(self.private, models)
        if self.private_steps == 0:
            round.train(models)
        else:
            round.train(models, layers=blocks.private, steps=self.private_steps)
            round.train(models, layers=blocks.shared)
        if has_diverged(models):
            return
        round.send(bytes=blocks.bytes)
        kept = {name: layer for name, layer in models.by_layer().items() if name in blocks.private}
        models.mix(round.mixing)
        models.set(kept)
