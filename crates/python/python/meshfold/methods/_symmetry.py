"""Mixing weights that must be symmetric, for methods that sum up how far models are from the averages of their neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._same_overlay import name_of

#: By how much two weights that are taken for the same may differ. Weights of a user's own may be in single precision.
_TOLERANCE = 1e-5


class NeedsSymmetry:
    """What a method needs that multiplies again and again by `I - W`: with another `W` models grow without bound, at any learning rate."""

    def expect_symmetry(self, round: mf.Round) -> None:
        """Refuses links that go one way, and weights that are not symmetric.

        Raises:
            ValueError: naming two clients.
        """
        edges, weights = round.mixing.entries()
        known = getattr(self, "_meshfold_symmetric", None)
        if known is not None and np.array_equal(known[0], edges) and np.array_equal(known[1], weights):
            return
        unlike = _unlike(edges, weights, round.clients)
        if unlike is not None:
            sender, receiver, there, back = unlike
            raise ValueError(f"{name_of(self)} {_needed(sender, receiver, there, back, round)}")
        # Not kept by checkpoints: it only saves work while nothing changes.
        self._meshfold_symmetric = (edges, weights)


def _unlike(edges: NDArray[np.int64], weights: NDArray[np.float64], clients: int) -> tuple[int, int, float, float] | None:
    """Sender and receiver of a weight that is not that of the way back, and both weights; None if there is none."""
    senders, receivers = edges.astype(np.int64).T
    places = receivers * clients + senders
    order = np.argsort(places)
    ways_back = senders * clients + receivers
    found = order[np.searchsorted(places, ways_back, sorter=order).clip(max=len(order) - 1)]
    back = np.where(places[found] == ways_back, weights[found], 0)
    worst = np.argmax(np.abs(weights - back))
    if abs(weights[worst] - back[worst]) <= _TOLERANCE:
        return None
    return int(senders[worst]), int(receivers[worst]), float(weights[worst]), float(back[worst])


def _needed(sender: int, receiver: int, there: float, back: float, round: mf.Round) -> str:
    """What a method needs, what it found, and what stands it."""
    if back == 0:
        return (
            f"needs links that go both ways: in round {round.number} client {receiver} hears from client {sender} and does not send to it. The "
            "overlay is directed, or stragglers only receive. push_pull and push_sum stand such links, and gradient_tracking does on directed "
            "overlays if the columns of the weights sum to one"
        )
    return (
        f"needs symmetric weights: in round {round.number} client {receiver} gives {there:.4g} to the model of client {sender}, and client "
        f"{sender} gives {back:.4g} to that of client {receiver}. Those of `weights: metropolis_hastings` are symmetric, and push_pull and "
        "push_sum have weights of their own"
    )
