"""Overlays that must stay as they are, for methods that go on counting on what clients exchanged before."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold import _late
from meshfold.methods._compression import sending


class KeepsCopies:
    """What a method needs whose clients keep copies of what others have sent, which all of them must have heard from the first message on.

    Links may fall away for good. A client that takes no part is taken to make up for what it missed when it is back, from its neighbours;
    these messages are not counted.
    """

    needs_lasting_overlay: ClassVar[bool] = True

    def expect_copies(self, round: mf.Round, instead: str) -> None:
        """Refuses links to a client that lacks earlier messages; `instead` are methods that do without.

        Raises:
            ValueError: if the overlay has changed.
        """
        known = getattr(self, "_meshfold_known", None)
        now = (round.edges, round.alive)
        if known is not None and all(np.array_equal(one, other) for one, other in zip(known, now, strict=True)):
            return
        hears = heard(round)
        if not hasattr(self, "missed"):
            #: Which client, a row, has sent what a client that took part, a column, did not hear, `[N, N]`.
            self.missed = np.zeros_like(hears)
        lacking = np.argwhere(hears & self.missed)
        if len(lacking) > 0:
            sender, receiver = lacking[0]
            raise ValueError(
                f"{name_of(self)} needs an overlay whose links stay: in round {round.number} client {receiver} begins to hear from client "
                f"{sender}, of whose earlier messages it has no copy: {instead} links that change or fail"
            )
        self.missed |= np.outer(sending(round), round.alive) & ~hears
        # Not kept by checkpoints: it only saves work while nothing changes.
        self._meshfold_known = now


class KeepsWeights:
    """What a method needs that subtracts an earlier average from a later one, which must have the same weights and steps."""

    needs_lasting_overlay: ClassVar[bool] = True

    def expect_weights(self, round: mf.Round, rates: NDArray[np.float32]) -> None:
        """Refuses rounds in which anything is other than in the first one.

        Raises:
            ValueError: if a client takes no part, or weights or learning rates have changed.
        """
        if not round.alive.all():
            absent = np.flatnonzero(~round.alive)[0]
            raise ValueError(
                f"{name_of(self)} needs all clients in all rounds: client {absent} takes no part in round {round.number}: exact_diffusion "
                "and led stand clients that fail or fall behind"
            )
        links, weights = round.mixing.entries()
        if round.number == 1:
            #: Sender and receiver of each weight of the first round, `[E, 2]`; these weights, `[E]`; and its learning rates, `[N]`.
            self.links, self.weights, self.rates = links, weights, rates
        if not (np.array_equal(self.links, links) and np.array_equal(self.weights, weights)):
            raise ValueError(
                f"{name_of(self)} needs an overlay whose links and weights stay: those of round {round.number} differ from those of "
                "round 1: gradient_tracking stands links that change or fail"
            )
        if not np.array_equal(self.rates, rates):
            changed = np.flatnonzero(self.rates != rates)[0]
            raise ValueError(
                f"{name_of(self)} needs a learning rate that stays: client {changed} has {rates[changed]:.4g} in round {round.number} and had "
                f"{self.rates[changed]:.4g} in round 1: give a single number, or take exact_diffusion"
            )


class KeepsLinks:
    """What a method is defined for whose corrections sum up differences between neighbours: an overlay that stays.

    Clients may fail. On an overlay whose links change the method may work or not, so that its user is only warned.
    """

    needs_lasting_overlay: ClassVar[bool] = True

    def tell_of_change(self, round: mf.Round, instead: str) -> None:
        """Warns, once in a run, of links that change; `instead` are methods that stand it."""
        if getattr(self, "_meshfold_has_warned", False):
            return
        before = getattr(self, "_meshfold_before", None)
        # Not kept by checkpoints: a run that goes on looks at the rounds to come.
        self._meshfold_before = (round.edges, round.alive)
        if before is None or not _has_changed(before, self._meshfold_before):
            return
        self._meshfold_has_warned = True
        _late.say(
            f"{name_of(self)} is defined for an overlay that stays, and round {round.number} has other links than round {round.number - 1}: "
            f"differences between models may grow without bound, at any learning rate; {instead}"
        )


#: The edges of a round, `[E, 2]`, and who takes part, `[N]`.
_Links = tuple[NDArray[np.int64], NDArray[np.bool_]]


def _has_changed(before: _Links, now: _Links) -> bool:
    """Whether some of the clients that take part in both rounds have other links between them."""
    if all(np.array_equal(one, other) for one, other in zip(before, now, strict=True)):
        return False
    there = before[1] & now[1]
    old, new = ({(min(link), max(link)) for link in edges[there[edges].all(axis=1)].tolist()} for edges in (before[0], now[0]))
    return old != new


def heard(round: mf.Round) -> NDArray[np.bool_]:
    """Whom, a row, each client, a column, hears in this round, `[N, N]`; itself, too."""
    hears = np.eye(round.clients, dtype=bool)
    one, other = round.edges.T
    hears[one, other] = True
    if not round.directed:
        hears[other, one] = True
    return hears


def name_of(method: object) -> str:
    """The name of a method in configurations."""
    return str(getattr(method, "name"))
