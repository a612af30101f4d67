"""Muffliato: clients add noise to their models, and gossip often enough that the noise averages out."""

from __future__ import annotations

import numpy as np

import meshfold as mf


class Muffliato(mf.Method):
    """Muffliato with local work. Each round injects noise once and gossips K times.

        d_i = the change of x_i by the local steps, shortened to the norm C
        y_i^0 = x_i + d_i + sigma C N(0, I)
        y_i^{k+1} = sum_j w_ij y_j^k,                       k < K, one message each
        x_i <- y_i^K

    With `chebyshev: true` the gossip is accelerated, y_i^1 as above and

        y_i^{k+1} = omega_{k+1} (sum_j w_ij y_j^k - y_i^{k-1}) + y_i^{k-1},
        omega_1 = 1,   omega_2 = 1/(1 - r^2/2),   omega_{k+1} = 1/(1 - r^2 omega_k / 4),

    where r is the second largest of the |eigenvalues| of the weights, which must be symmetric. With `noise: 0`, no `norm` and `gossips: 1`
    it is DFedAvg.

    **No privacy is accounted.** Nothing here computes an epsilon. C bounds the whole change of a client, not the gradient of each example:
    what the paper's formula then gives, with the sensitivity 2 C, holds for all examples of a client at once, for one round. Composition
    over rounds and the gain of sampled mini-batches are left to the user. Without a `norm` the noise has the deviation sigma, and there is
    no guarantee at all. The noise comes from a generator for simulations, not for secrets.

    # Interpretation
    The paper's gradient version takes one gradient a round; `local: {steps: 1}` does.

    Source: Cyffers, Even, Bellet and Massoulie, NeurIPS 2022 (arXiv 2206.05091), Algorithms 1 and 2.

    Attributes:
        noise: sigma, the deviation of the noise of each parameter as a multiple of C.
        norm: C, the largest norm of a client's change; changes are not shortened if absent.
        gossips: K, exchanges in a round.
        chebyshev: whether these are accelerated.
    """

    noise: float = 0.01
    norm: float | None = None
    gossips: int = 5
    chebyshev: bool = False

    def check(self) -> None:
        if not self.noise >= 0:
            raise mf.KeyFault.value("noise", "a number of at least 0")
        if self.norm is not None and not self.norm > 0:
            raise mf.KeyFault.value("norm", "a number above 0")
        if self.gossips < 1:
            raise mf.KeyFault.value("gossips", "a whole number of at least 1")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        return {"bytes": self.gossips * about.to_neighbours(about.model_bytes)}

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        before = models.copy()
        round.train(models)
        if self.norm is not None:
            models.set(before + (models - before).clip(self.norm))
        if self.noise > 0:
            noise = models.zeros_like()
            noise.set(np.random.default_rng([round.seed, round.number]).standard_normal(models.shape, dtype=np.float32))
            models.add_scaled(noise, round.alive * (self.noise * (self.norm or 1)))
        former = models.copy()
        omega, radius = 1.0, self._radius(round) if self.chebyshev else 0.0
        for number in range(self.gossips):
            round.send(models)
            current = models.copy()
            models.mix(round.mixing)
            if self.chebyshev and number > 0:
                omega = 1 / (1 - radius**2 * omega / (2 if number == 1 else 4))
                models.set(former + (models - former) * omega)
            former = current

    def _radius(self, round: mf.Round) -> float:
        """The largest |eigenvalue| of the weights but for those that are one: absent clients have such eigenvalues, too."""
        weights = round.mixing.numpy()
        if not np.allclose(weights, weights.T, atol=1e-6):
            raise ValueError("chebyshev: the weights of the overlay are not symmetric")
        eigenvalues = np.linalg.eigvalsh(weights)
        below_one = np.abs(eigenvalues[eigenvalues < 1 - 1e-5])
        # Rounded, as its last bits depend on the number of threads.
        return float(np.round(min(1.0, below_one.max(initial=0.0)), 6))
