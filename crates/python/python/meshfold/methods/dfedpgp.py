"""DFedPGP: private layers, and shared ones that are pushed over directed links."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods import _private_layers
from meshfold.methods._divergence import has_diverged
from meshfold.methods._effects import expect_effect


class DFedPgp(mf.Method):
    """DFedPGP. Client i has shared parameters z_i and private ones v_i, which never leave it. It pushes shares b_ji of u_i and omega_i to all
    that it sends to, and as much to itself.

        v_i <- v_i - eta g_i(z_i, v_i)                   on v alone, k times
        u_i = omega_i z_i - eta sum of g_i(z_i, v_i)     on z alone, the local steps
        u_i <- sum_j b_ij u_j,  omega_i <- sum_j b_ij omega_j
        z_i = u_i / omega_i                              # 4 bytes for each shared parameter

    omega begins at 1. With `private: []` it is `push_sum`, and on undirected regular overlays it is DFedAlt. `evaluate: {local_test: 0.2}`
    judges how well models fit their own clients.

    # Interpretation
    Within a round z moves by the full rate, as in `push_sum`, whatever omega is. Momentum begins at zero in each of the two phases. The
    mixing weights of the configuration have no effect. omega, one number a message, is not counted. The paper draws receivers anew in each
    round: use an overlay that changes.

    Source: Liu, Shi, Li, Wu, Wang and Shen, CVPR 2024 (arXiv 2405.17876), Algorithm 1.

    Attributes:
        private: the layers that clients keep, by the names that `models.by_layer()` has, or `last`, the last one with its bias.
        private_steps: k, the steps on the private layers in a round, at least 1.
    """

    sends_models = False
    mixes_by_weights = False

    name = "dfedpgp"
    private: list[str] | str = "last"
    private_steps: int = 5

    def check(self) -> None:
        _private_layers.check(self.private)
        if self.private_steps < 1:
            raise mf.KeyFault.value("private_steps", "a whole number of at least 1")
        expect_effect(self, "private_steps", self.private != [], "layers in `private` beside it: none are private")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        steps = int(about.local_steps.sum()) + (self.private_steps * about.clients if self.private else 0)
        return {"local_steps": steps, "bytes": about.to_neighbours(_private_layers.planned_bytes(self.private, about))}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        _private_layers.expect_shared(self, self.private, models)
        self.omega = np.ones(len(models))

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        blocks = _private_layers.blocks(self.private, models)
        before = models.copy()
        if blocks.private:
            round.train(models, layers=blocks.private, steps=self.private_steps)
        round.train(models, layers=blocks.shared)
        if has_diverged(models):
            return
        kept = {name: layer for name, layer in models.by_layer().items() if name in blocks.private}
        models.add_scaled(before, self.omega - 1)
        links = np.eye(round.clients)
        senders, receivers = round.edges.T
        links[receivers, senders] = 1
        if not round.directed:
            links[senders, receivers] = 1
        shares = links / links.sum(axis=0)
        round.send(bytes=blocks.bytes)
        models.mix(shares)
        self.omega = shares @ self.omega
        models *= 1 / self.omega
        models.set(kept)
