"""Models at moments of simulated time, as weighted sums of rows, and the few stacked calls that compute them.

Averages are linear, so many of them in a row are one product with a sparse matrix. Only local work stands between such products: bouts
that do not depend on each other are trained in one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

import meshfold as mf


class Version:
    """A model at one moment.

    Attributes:
        weights: the rows that it is the weighted sum of; a negative number stands for the result of a bout, or a patchwork.
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


class Patchwork(NamedTuple):
    """A model whose parameters are cut into fragments. Each fragment is the plain mean of that of some versions."""

    fragments: list[list[Version]]
    depth: int


R = TypeVar("R", Bout, Patchwork)


class Versions:
    """All models that come up in one window of simulated time.

    They are computed from the rows of one stack: the models of the N clients, N rows in which clients train, and the K versions that are
    kept from window to window. Client i always trains in row N + i, so that it goes on with its pass over its examples.

    Attributes:
        models: the models when the window begins, `[N]`.
        kept: the versions that are kept, `[K]`.
        loaded: those that already are in the row in which a client trains, by the client.
        fragments: the parameters of each fragment, as columns of `Stack.numpy`, where there are patchworks.
    """

    def __init__(self, clients: int, kept: int) -> None:
        self.models = [Version({client: 1.0}, 0) for client in range(clients)]
        self.kept = [Version({2 * clients + place: 1.0}, 0) for place in range(kept)]
        self.loaded: dict[int, Version] = {}
        self.fragments: list[NDArray[np.int64]] = []
        self._bouts: dict[int, Bout] = {}
        self._patchworks: dict[int, Patchwork] = {}
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
        return self._made(self._bouts, Bout(version, client, steps, depth))

    def patched(self, fragments: list[list[Version]]) -> Version:
        """The patchwork of versions that are rows, or results of bouts: of each fragment, those whose mean it is."""
        depth = max(version.depth for some in fragments for version in some)
        return self._made(self._patchworks, Patchwork(fragments, depth))

    def compute(
        self, rows: mf.Stack, models: Sequence[Version], loaded: Sequence[Version | None], kept: Sequence[Version], round: mf.Round
    ) -> mf.Stack:
        """The stack from which the next window begins: the models, the versions on which clients will train next, and those to keep."""
        clients = len(models)
        row_of = self._rows()
        rows = grown(rows, max(2 * clients + len(kept), 1 + max(row_of.values(), default=0)))
        for depth in range(max(self._depths) + 1):
            self._train(rows, {number: bout for number, bout in self._bouts.items() if bout.depth == depth}, row_of, round)
            due = {row_of[number]: patchwork.fragments for number, patchwork in self._patchworks.items() if patchwork.depth == depth}
            if due:
                self._patch(rows, due, row_of)
        return rows.mix(Weights(len(rows), [*models, *loaded, *kept], row_of))

    def _made(self, results: dict[int, R], result: R) -> Version:
        """The version that a bout or a patchwork makes."""
        number = -1 - len(self._bouts) - len(self._patchworks)
        results[number] = result
        return Version({number: 1.0}, result.depth)

    def _rows(self) -> dict[int, int]:
        """The row of each result: that in which the client trains, if no later bout of the client overwrites it, or else one of its own."""
        clients = len(self.models)
        rows = {clients + bout.client: number for number, bout in self._bouts.items()}
        row_of = {number: row for row, number in rows.items()}
        free = 2 * clients + len(self.kept)
        for number in (*self._bouts, *self._patchworks):
            if number not in row_of:
                row_of[number] = free
                free += 1
        return row_of

    def _train(self, rows: mf.Stack, due: dict[int, Bout], row_of: dict[int, int], round: mf.Round) -> None:
        """Trains on the versions of some bouts at once, at most one of each client."""
        if not due:
            return
        clients = len(self.models)
        away = [bout for bout in due.values() if self.loaded.pop(bout.client, None) is not bout.version]
        if away:
            load(rows, away, clients, row_of)
        steps = np.zeros(len(rows), int)
        steps[[clients + bout.client for bout in due.values()]] = [bout.steps for bout in due.values()]
        round.train(rows, steps=steps, clients=np.arange(len(rows)) % clients)
        moved = [(clients + bout.client, row_of[number]) for number, bout in due.items() if row_of[number] != clients + bout.client]
        if moved:
            rows.scatter([result for _, result in moved], rows.gather([trained for trained, _ in moved]))

    def _patch(self, rows: mf.Stack, due: dict[int, list[list[Version]]], row_of: dict[int, int]) -> None:
        """Makes patchworks, each in its row."""
        versions = [[[row_of.get(row, row) for version in some for row in version.weights] for some in due[row]] for row in due]
        sources = sorted({row for fragments in versions for some in fragments for row in some})
        place = {row: number for number, row in enumerate(sources)}
        # Fragments lie side by side, so that each is a slice.
        order = np.concatenate(self.fragments)
        found = np.take(rows.gather(sources).numpy(), order, axis=1)
        diverged = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if len(diverged) > 0:
            # An array of such numbers is refused. With such a row the run ends by the error of all methods whose models diverge.
            rows.scatter(list(due), rows.gather([sources[diverged[0]]] * len(due)))
            return
        made = np.empty((len(due), len(order)), np.float32)
        last = 0
        for fragment, columns in enumerate(self.fragments):
            first, last = last, last + len(columns)
            for target, fragments in enumerate(versions):
                some = [place[row] for row in fragments[fragment]]
                mean = made[target, first:last]
                mean[:] = found[some[0], first:last]
                for source in some[1:]:
                    mean += found[source, first:last]
                mean /= np.float32(len(some))
        patched = rows.gather(list(due))
        patched.set(np.take(made, order.argsort(), axis=1))
        rows.scatter(list(due), patched)


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
