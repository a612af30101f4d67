"""DFedSalt: as DFedAlt, with steps of the shared layers that seek flat minima."""

from __future__ import annotations

import numpy as np

import meshfold as mf
from meshfold.methods import _private_layers
from meshfold.methods._divergence import has_diverged
from meshfold.methods._effects import expect_effect


class DfedSalt(mf.Method):
    """DFedSalt. Client i has shared parameters u_i, which are averaged, and private ones v_i, which never leave it.

        v_i <- v_i - eta g_i(u_i, v_i)          on v alone, k times
        e = rho g_i(u_i, v_i) / |g_i(u_i, v_i)|  on u alone
        u_i <- u_i - eta g_i(u_i + e, v_i)       on u alone, on the same mini-batch: the local steps
        u_i <- sum_j w_ij u_j                    # the only message: 4 bytes for each shared parameter

    With `rho: 0` it is DFedAlt. `evaluate: {local_test: 0.2}` judges how well models fit their own clients.

    # Interpretation
    Momentum begins at zero in each of the two phases. Stragglers make fewer steps in both. In steps of the shared layers `clip_norm` limits
    the norm of the gradient of all layers.

    Source: Shi, Liu, Sun, Lin, Shen, Wang and Tao, 2023 (arXiv 2305.15157).

    Attributes:
        private: the layers that clients keep, by the names that `models.by_layer()` has, or `last`, the last one with its bias.
        private_steps: k, the steps on the private layers in a round, at least 1.
        rho: the radius in which the worst shared layers are sought, at least 0.
    """

    sends_models = False
    private: list[str] | str = "last"
    private_steps: int = 5
    rho: float = 0.01

    def check(self) -> None:
        _private_layers.check(self.private)
        if self.private_steps < 1:
            raise mf.KeyFault.value("private_steps", "a whole number of at least 1")
        expect_effect(self, "private_steps", self.private != [], "layers in `private` beside it: none are private")
        if not self.rho >= 0:
            raise mf.KeyFault.value("rho", "a number of at least 0")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        steps = 2 * int(about.local_steps.sum()) + self.private_steps * about.clients
        return {"local_steps": steps, "bytes": about.to_neighbours(_private_layers.planned_bytes(self.private, about))}

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        _private_layers.expect_shared(self, self.private, models)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        blocks = _private_layers.blocks(self.private, models)
        round.train(models, layers=blocks.private, steps=self.private_steps)
        if has_diverged(models):
            return
        kept = {name: layer for name, layer in models.by_layer().items() if name in blocks.private}
        self._train_shared(models, round, still={name: np.zeros_like(layer) for name, layer in kept.items()})
        round.send(bytes=blocks.bytes)
        models.mix(round.mixing)
        models.set(kept)

    def _train_shared(self, models: mf.Stack, round: mf.Round, still: dict[str, np.ndarray]) -> None:
        """The local steps of the shared layers. `still` has zeros for the gradients of the others."""
        velocity = models.zeros_like()
        steps = round.local_steps
        for step in range(steps.max()):
            active = step < steps
            gradient, rates = round.gradients(models, rows=active)
            gradient.set(still)
            norms = gradient.norms()
            worst = models.copy().add_scaled(gradient, self.rho / np.where(norms > 0, norms, 1))
            gradient, _ = round.gradients(worst, same_batches=True, rows=active)
            gradient.set(still)
            momentum = round.settings["momentum"]
            velocity *= np.where(active, momentum, 1)
            velocity += gradient
            along = gradient + velocity * momentum if round.settings["nesterov"] else velocity
            models.add_scaled(along, np.where(active, -rates, 0))
