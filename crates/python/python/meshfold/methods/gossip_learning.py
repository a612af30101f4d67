"""Gossip learning: clients send their models to random neighbours from time to time, and train on what comes."""

from __future__ import annotations

from typing import Literal

import numpy as np

import meshfold as mf
from meshfold.methods._effects import expect_effect
from meshfold.methods._events import OWN, SECOND, Asynchronous, Event, Letter, Window
from meshfold.methods._help import with_keys_of
from meshfold.methods._versions import Version


@with_keys_of(Asynchronous, "Keys of time")
class GossipLearning(Asynchronous, mf.Method):
    """Gossip learning. Client i has a model x_i and the number t_i of local steps that are in it. Once in each period, from a random moment
    on, it sends both to a random neighbour. When (x_r, t_r) comes, it makes a bout of local steps, by `variant`:

        merge_update:  x_i <- (1 - a) x_i + a x_r;  t_i <- max(t_i, t_r);  then x_i is trained
        update:        x_i <- x_r trained;          t_i <- t_r
        update_merge:  both are trained, one after the other, then averaged as above

    and t_i grows by the steps. The weight a is t_r / (t_i + t_r), one half while both are 0, or always one half.

    With `tokens`, clients send less at fixed times, and more in answer to what comes: the randomised token account. Client i has k_i
    tokens, first 0. Once in each period it sends with the probability

        0 if k_i < A - 1,   (k_i - A + 1) / (C - A + 1) up to k_i = C,   1 above,

    and gains a token if it does not. When a model has come and is trained, it sends x_i to k_i/A random neighbours, rounded up or down at
    random, for a token each.

    A message has the size of a model and a count of 8 bytes. A round is a window of simulated time; the keys of time stand below.
    `own.staleness` is how often the model of a sender has changed since it sent what is used, `own.bouts` how many bouts of local work each
    client has ended.

    # Interpretation
    A model that comes is averaged with the client's own model of the moment, as in Hegedus, Danner and Jelasity. In the code of Ormandi et al.
    it is averaged with the model that came before it, as that was when it came. A model that comes while the client trains waits until then; a
    newer one takes its place. A client whose link is still busy sends nothing in that period. The account's messages are all useful. Momentum begins at zero in each bout.

    Source: Ormandi, Hegedus and Jelasity, Concurrency and Computation 2013 (arXiv 1109.1396), Algorithms 1 and 2; the weights by t from
    Hegedus, Danner and Jelasity, JPDC 2021; the token account from Danner and Jelasity, ICDCS 2018.

    Attributes:
        variant: what a client does with a model that comes.
        average: whether models weigh by the steps that are in them (`steps`) or alike (`half`).
        period: the seconds between two messages of a client without tokens; if absent, those of a window.
        tokens: whether clients have token accounts.
        a: A, how many tokens make an answer.
        c: C, from how many tokens on a client sends for certain.
    """

    may_lose_messages = True
    mixes_by_weights = False

    variant: Literal["merge_update", "update", "update_merge"] = "merge_update"
    average: Literal["steps", "half"] = "steps"
    period: float | None = None
    tokens: bool = False
    a: int = 10
    c: int = 20

    def check(self) -> None:
        super().check()
        if self.period is not None and not 1e-9 <= self.period <= 1e6:
            raise mf.KeyFault.value("period", "a number from 1e-9 to 1e6")
        if self.a < 1:
            raise mf.KeyFault.value("a", "a whole number of at least 1")
        if self.c < self.a:
            raise mf.KeyFault.value("c", "a whole number of at least `a`")
        for key in ("a", "c"):
            expect_effect(self, key, self.tokens, "`tokens: true` beside it: clients have no accounts without")
        needed = "`variant: merge_update` or `update_merge` beside it: `update` averages nothing"
        expect_effect(self, "average", self.variant != "update", needed)

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        super().start(models, *about)
        clients = len(models)
        #: t_i and k_i, and which clients train, `[N]`.
        self.counts = np.zeros(clients, np.int64)
        self.accounts = np.zeros(clients, np.int64)
        self.training = np.zeros(clients, bool)

    def begins(self, window: Window, time: int, client: int) -> None:
        self.training[client] = False
        window.mail[client].clear()
        window.happens(time + int(window.draws.random() * self._period(window)), client, OWN)

    def acts(self, window: Window, event: Event) -> None:
        """The moment in each period."""
        client = event.client
        window.happens(event.time + self._period(window), client, OWN)
        above = int(self.accounts[client]) - self.a + 1
        if self.tokens and window.draws.random() >= above / (self.c - self.a + 1):
            self.accounts[client] += 1
        elif window.link_is_free(event.time, client):
            self._send(window, event.time, client)

    def arrived(self, window: Window, event: Event) -> None:
        window.keep(event, 0)
        if not self.training[event.client]:
            self._receive(window, event.time, event.client)

    def trained(self, window: Window, event: Event, after: Version) -> None:
        client = event.client
        steps = int(window.steps[client])
        if self.variant == "update_merge":
            own = window.versions.trained(window.models[client], client, steps)
            window.bouts[client] += 1
            after = self._merged(window, client, own, after, event.about)
        elif self.variant == "update":
            self.counts[client] = event.about
        window.becomes(client, after)
        self.counts[client] += steps
        self.training[client] = False
        if self.tokens:
            answers = int(self.accounts[client] / self.a + window.draws.random())
            self.accounts[client] -= answers
            for _ in range(answers):
                self._send(window, event.time, client)
        if window.mail[client]:
            self._receive(window, event.time, client)

    def _receive(self, window: Window, time: int, client: int) -> None:
        """Takes up the model that has come."""
        letter: Letter = window.mail[client].pop(0)
        window.uses(letter.sender, letter.age)
        self.training[client] = True
        version = letter.version
        if self.variant == "merge_update":
            version = self._merged(window, client, window.models[client], version, letter.about)
            window.becomes(client, version)
        window.begin_bout(time, client, version, about=letter.about, bouts=2 if self.variant == "update_merge" else 1)

    def _merged(self, window: Window, client: int, own: Version, other: Version, count: int) -> Version:
        """The average of an own model with one that `count` steps are in; t_i becomes the larger number."""
        both = int(self.counts[client]) + count
        share = count / both if self.average == "steps" and both > 0 else 0.5
        self.counts[client] = max(int(self.counts[client]), count)
        return window.versions.sum([(1 - share, own), (share, other)])

    def _send(self, window: Window, time: int, client: int) -> None:
        receivers = window.receivers(client)
        if receivers:
            receiver = receivers[int(window.draws.integers(len(receivers)))]
            window.send(time, client, receiver, about=int(self.counts[client]), bytes=window.message_bytes + 8)

    def _period(self, window: Window) -> int:
        """The nanoseconds of a period."""
        return window.end - window.begin if self.period is None else max(1, int(np.rint(self.period * SECOND)))
