"""Models at moments of simulated time, as weighted sums of rows, and the few stacked calls that compute them.

Averages are linear, so many of them in a row are one product with a sparse matrix. Only local work stands between such products: bouts
that do not depend on each other are trained in one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import meshfold as mf


class Version:
    """A model at one moment.

    Attributes:
        weights: the rows that it is the weighted sum of; a negative number -1 - b stands for the result of bout b.
        depth: how many bouts of local work must be done one after another before it can be computed.
    """

    __slots__ = ("depth", "weights")

    def __init__(self, weights: dict[int, float], depth: int) -> None:
        self.weights = weights
        self.depth = depth


class Bout(NamedTuple):
    """Local work that is to be done on a version."""

    version: Version
    client: int
    steps: int
    depth: int


class Versions:
    """All models that come up in one window of simulated time.

    They are computed from the rows of one stack: the models of the N clients, N rows in which clients train, and the K versions that are
    kept from window to window. Client i always trains in row N + i, so that it goes on with its pass over its examples.

    Attributes:
        models: the models when the window begins, `[N]`.
        kept: the versions that are kept, `[K]`.
        loaded: those that already are in the row in which a client trains, by the client.
    """

    def __init__(self, clients: int, kept: int) -> None:
        self.models = [Version({client: 1.0}, 0) for client in range(clients)]
        self.kept = [Version({2 * clients + place: 1.0}, 0) for place in range(kept)]
        self.loaded: dict[int, Version] = {}
        self._bouts: list[Bout] = []
        self._depths = [0] * clients

    def sum(self, parts: Iterable[tuple[float, Version]]) -> Version:
        """The weighted sum of versions; weights need not sum to one."""
        weights: dict[int, float] = {}
        depth = 0
        for scale, version in parts:
            depth = max(depth, version.depth)
            for row, weight in version.weights.items():
                weights[row] = weights.get(row, 0.0) + scale * weight
        return Version({row: weight for row, weight in weights.items() if weight != 0}, depth)

    def trained(self, version: Version, client: int, steps: int) -> Version:
        """The version after `steps` local steps of a client."""
        # The bouts of one client take its mini-batches in the order of time.
        depth = self._depths[client] = max(version.depth, self._depths[client]) + 1
        self._bouts.append(Bout(version, client, steps, depth))
        return Version({-len(self._bouts): 1.0}, depth)

    def compute(
        self, rows: mf.Stack, models: Sequence[Version], loaded: Sequence[Version | None], kept: Sequence[Version], round: mf.Round
    ) -> mf.Stack:
        """The stack from which the next window begins: with the models, the versions on which clients will train next, and those to keep."""
        clients = len(models)
        results = self._results(2 * clients + len(self.kept))
        rows = grown(rows, max(2 * clients + len(kept), 1 + max(results, default=0)))
        row_of = dict(zip(range(-1, -1 - len(results), -1), results, strict=True))
        for depth in range(1, max(self._depths) + 1):
            due = [place for place, bout in enumerate(self._bouts) if bout.depth == depth]
            bouts = [self._bouts[place] for place in due]
            away = [bout for bout in bouts if self.loaded.pop(bout.client, None) is not bout.version]
            if away:
                load(rows, away, clients, row_of)
            steps = np.zeros(len(rows), int)
            steps[[clients + bout.client for bout in bouts]] = [bout.steps for bout in bouts]
            round.train(rows, steps=steps, clients=np.arange(len(rows)) % clients)
            moved = [(clients + bout.client, results[place]) for place, bout in zip(due, bouts, strict=True)]
            moved = [(trained, result) for trained, result in moved if trained != result]
            if moved:
                rows.scatter([result for _, result in moved], rows.gather([trained for trained, _ in moved]))
        return rows.mix(Weights(len(rows), [*models, *loaded, *kept], row_of))

    def _results(self, free: int) -> list[int]:
        """The row of each bout's result: that in which the client trains, but for those that a later bout of it would overwrite."""
        rows = [0] * len(self._bouts)
        later: set[int] = set()
        for place in reversed(range(len(self._bouts))):
            client = self._bouts[place].client
            rows[place] = free if client in later else len(self.models) + client
            free += client in later
            later.add(client)
        return rows


class Weights:
    """The sparse matrix that makes the versions of rows, in the form in which `Stack.mix` reads matrices of SciPy.

    It has `side` rows and columns. Rows beyond the versions, and those of None, are zero.
    """

    def __init__(self, side: int, versions: Sequence[Version | None], row_of: dict[int, int]) -> None:
        entries = [
            (number, row_of.get(row, row), weight)
            for number, version in enumerate(versions)
            if version is not None
            for row, weight in version.weights.items()
        ]
        self.shape = (side, side)
        self.row: NDArray[np.int64] = np.array([entry[0] for entry in entries], np.int64)
        self.col: NDArray[np.int64] = np.array([entry[1] for entry in entries], np.int64)
        self.data: NDArray[np.float64] = np.array([entry[2] for entry in entries], float)

    def tocoo(self) -> Weights:
        return self


def grown(rows: mf.Stack, count: int) -> mf.Stack:
    """A stack of at least `count` rows, the first of which are `rows`."""
    if len(rows) >= count:
        return rows
    return rows.gather(np.minimum(np.arange(count), len(rows) - 1))


def load(rows: mf.Stack, bouts: Sequence[Bout], clients: int, row_of: dict[int, int]) -> None:
    """Makes the versions of `bouts` in the rows in which their clients train."""
    places = [clients + bout.client for bout in bouts]
    versions = [bout.version for bout in bouts]
    if all(list(version.weights.values()) == [1] for version in versions):
        rows.scatter(places, rows.gather([row_of.get(row, row) for version in versions for row in version.weights]))
        return
    weights = Weights(0, versions, row_of)
    sources, column = np.unique(weights.col, return_inverse=True)
    side = max(len(sources), len(versions))
    # A matrix with a row for each client would be taken for one that concerns the clients.
    side += side == clients
    if 4 * side < len(rows):
        weights.shape, weights.col = (side, side), column
        result = rows.gather(np.pad(sources, (0, side - len(sources)))).mix(weights)
        rows.scatter(places, result.gather(range(len(versions))))
        return
    # A product with all rows is faster than to gather most of them.
    after = [Version({row: 1.0}, 0) for row in range(len(rows))]
    for place, version in zip(places, versions, strict=True):
        after[place] = version
    rows.mix(Weights(len(rows), after, row_of))
