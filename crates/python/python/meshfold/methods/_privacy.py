"""The privacy that noisy steps on sampled examples spend."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

#: Orders of Rényi divergence that are tried.
ORDERS = np.array([*range(2, 64), *range(64, 256, 8), 256, 320, 384, 448, *(512 * 2**power for power in range(6))])


def divergences(shares: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """The Rényi divergence of one step of the sampled Gaussian mechanism at each order, `[R, len(ORDERS)]`; infinite without noise.

    Source: Mironov, Talwar and Zhang, 2019 (arXiv 1908.10530), Section 3.3, for whole orders.

    Args:
        shares: the probability with which a step takes an example, for each row, `[R]`.
        noise: the deviation of the noise as a multiple of the norm that gradients are shortened to.
    """
    if noise == 0:
        return np.full((len(shares), len(ORDERS)), np.inf)
    of_share = {share: [_divergence(share, noise, int(order)) for order in ORDERS] for share in set(shares.tolist())}
    return np.array([of_share[share] for share in shares.tolist()])


def epsilons(divergences: NDArray[np.float64], steps: NDArray[np.float64], delta: float) -> NDArray[np.float64]:
    """The epsilon of so many steps of each row at `delta`, `[R]`.

    Source: Balle et al., AISTATS 2020 (arXiv 1905.09982), Theorem 21.

    Args:
        divergences: those of one step, `[R, len(ORDERS)]`.
        steps: how many steps each row has made, `[R]`.
        delta: the probability with which privacy may fail.
    """
    of_order = np.log1p(-1 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)
    spent = np.multiply(steps[:, None], divergences, out=np.zeros_like(divergences), where=steps[:, None] > 0)
    bounds = np.maximum(0, (spent + of_order).min(axis=1))
    return np.where(steps > 0, bounds, 0)


def _divergence(share: float, noise: float, order: int) -> float:
    if share == 1:
        return order / (2 * noise**2)
    k = np.arange(order + 1)
    factorials = np.array([math.lgamma(i + 1) for i in k])
    binomial = factorials[-1] - (factorials + factorials[::-1])
    terms = binomial + (order - k) * math.log1p(-share) + k * math.log(share) + k * (k - 1) / (2 * noise**2)
    return float(np.logaddexp.reduce(terms)) / (order - 1)
