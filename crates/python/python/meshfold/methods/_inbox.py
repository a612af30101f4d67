"""What clients have when all messages of a round are there, as robust averages ask for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import meshfold as mf

Numbers = NDArray[np.float64]
Indices = NDArray[np.intp]


class Inbox(NamedTuple):
    """The models of all clients and the messages that they received, `M` of them: those for client 0 first, each from neighbour to
    neighbour.

    Attributes:
        models: the models of the clients after local work, `[N, P]`.
        sent: what messages consist of, `[S, P]`: the models, and after them, if there are attackers, what these made up.
        rows: the row of `sent` that each message is, `[M]`.
        receivers: whom each message is for, `[M]`, ascending.
        weights: the weights w_ij of the messages, `[M]`.
        own_weights: the weights w_ii of the own models, `[N]`.
    """

    models: mf.Stack
    sent: mf.Stack
    rows: Indices
    receivers: Indices
    weights: Numbers
    own_weights: Numbers

    @property
    def clients(self) -> Indices:
        """All clients, `[N]`."""
        return np.arange(len(self.models))

    @property
    def degrees(self) -> Indices:
        """How many messages each client has, `[N]`."""
        return np.bincount(self.receivers, minlength=len(self.models))

    @property
    def ends(self) -> Indices:
        """Where the messages of each client end, `[N]`."""
        return np.cumsum(self.degrees)

    def edges(self, chosen: NDArray[np.bool_] | None = None, *, own: NDArray[np.bool_] | None = None) -> Indices:
        """Edges from rows of `sent` to clients, `[E, 2]`: of `chosen` messages, `[M]`, then of the own models of clients `own`, `[N]`; of
        all, if absent."""
        messages = slice(None) if chosen is None else chosen
        clients = self.clients if own is None else self.clients[own]
        return np.concatenate(
            [np.stack([self.rows[messages], self.receivers[messages]], axis=1), np.stack([clients, clients], axis=1)]
        )

    def per_client(self, numbers: NDArray[np.generic]) -> Numbers:
        """The sum of the numbers of a client's messages, `[N]`, of numbers `[M]`."""
        return np.asarray(np.bincount(self.receivers, numbers.astype(float), minlength=len(self.models)), float)

    def distances(self, center: mf.Stack | None = None) -> Numbers:
        """How far each message is from the row of `center` that is its receiver's, `[M]`; from the own model if absent."""
        return self.sent.distances(np.stack([self.rows, self.receivers], axis=1), center or self.models)

    def ordered(self, distances: Numbers) -> Indices:
        """The messages of each client by distance, farthest last, `[M]`. Of equal ones the message that comes first is farther."""
        return np.lexsort((-np.arange(len(distances)), distances, self.receivers))

    def sums(self, weights: Numbers, own: Numbers) -> mf.Stack:
        """The sum of own models and messages by weights `own`, `[N]`, and `weights`, `[M]`: `[N, P]`. What has no weight is not read."""
        edges = self.edges(weights != 0, own=own != 0)
        return self.sent.weighted_sums(edges, np.concatenate([weights[weights != 0], own[own != 0]]), rows=len(self.models))

    def mean(self, trusted: NDArray[np.bool_]) -> mf.Stack:
        """The weighted means of own models and `trusted` messages, `[N, P]`; weights are made to sum to one. Who trusts none keeps its
        own."""
        weights = np.where(trusted, self.weights, 0.0)
        own = np.where(self.per_client(trusted) > 0, self.own_weights, 1.0)
        total = own + self.per_client(weights)
        return self.sums(weights / total[self.receivers], own / total)
