"""DivShare: clients that wait for nobody send fragments of their models, each to other clients."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._events import Asynchronous, Event, Window
from meshfold.methods._help import with_keys_of
from meshfold.methods._versions import Version


@with_keys_of(Asynchronous, "Keys of time")
class DivShare(Asynchronous, mf.Method):
    """DivShare. There is no overlay: drop `topology`. The parameters of each layer are cut at random into K fragments, the same for all
    clients in the whole run. Client i works without a pause; when a bout of local steps has made h_i of x_i:

        it draws J clients for each fragment, puts the K J messages in random order, and sends them one after another;
        of each fragment, x_i <- (h_i + the sum of what came) / (1 + how often it came)

    What came is the newest of each fragment of each sender since the last average. Messages whose sending has not begun when the next bout
    ends are dropped: clients with slow links send fewer fragments, and no fragment comes first.

    A message has 4 bytes for each parameter of its fragment. A round is a window of simulated time; the keys of time stand below.
    `own.staleness` is how many bouts behind the fragments are that were averaged, `own.bouts` how many bouts of local work each client has
    ended.

    # Interpretation
    Clients draw among those that take part. Messages count in the window in which they are put in order. Momentum begins at zero in each
    bout.

    Source: Biswas, Kermarrec, Marouani, Pires, Sharma and de Vos, WWW 2025 (arXiv 2410.12918); what came is averaged after local
    work, as in the authors' program.

    Attributes:
        fragment: the share of the parameters in a fragment; K is one over it, rounded down.
        receivers: J, how many clients a fragment is sent to; all others if there are fewer. If absent, log2 of the number of clients,
            rounded up.
    """

    may_lose_messages = True
    overlay = False
    fragment: float = 0.1
    receivers: int | None = None

    def check(self) -> None:
        super().check()
        if not 1e-4 <= self.fragment <= 1:
            raise mf.KeyFault.value("fragment", "a number from 1e-4 to 1")
        if self.receivers is not None and self.receivers < 1:
            raise mf.KeyFault.value("receivers", "a whole number of at least 1")

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        super().start(models, *about)
        #: How many parameters each layer has.
        self._sizes = [layer[0].size for layer in models.by_layer().values()]
        if max(self._sizes) < self._count():
            raise ValueError(f"fragment: no layer has the {self._count()} parameters that as many fragments need")

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        receivers = min(self.receivers or math.ceil(math.log2(about.clients)), about.clients - 1)
        return {"bytes": about.clients * receivers * about.model_bytes}

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        self._fragments = self._cut(round)
        super().round(models, round)

    def arrived(self, window: Window, event: Event) -> None:
        window.keep(event, event.sender * self._count() + event.about)

    def trained(self, window: Window, event: Event, after: Version) -> None:
        window.versions.fragments = self._fragments
        client, mail = event.client, window.mail[event.client]
        window.becomes(client, after)
        self._send(window, event.time, client)
        if mail:
            fragments = [[after] for _ in self._fragments]
            for letter in mail.values():
                window.uses(letter.sender, letter.age)
                fragments[letter.about].append(letter.version)
            window.models[client] = window.versions.patched(fragments)
            mail.clear()
        window.begin_bout(event.time, client)

    def _send(self, window: Window, time: int, client: int) -> None:
        """Sends all fragments for which there is time until the next bout ends."""
        others = window.receivers(client)
        receivers = min(self.receivers or math.ceil(math.log2(window.round.clients)), len(others))
        drawn = [(part, other) for part in range(self._count()) for other in window.draws.choice(others, receivers, replace=False).tolist()]
        for place in window.draws.permutation(len(drawn)):
            if self.link_free[client] >= time + window.bout[client]:
                break
            fragment, other = drawn[place]
            window.send(time, client, other, about=fragment, bytes=4 * len(self._fragments[fragment]))

    def _count(self) -> int:
        """K."""
        return int(1 / self.fragment)

    def _cut(self, round: mf.Round) -> list[NDArray[np.int64]]:
        """The parameters of each fragment."""
        # Rounds, by which all else is drawn, count from 1; the speeds of clients are drawn by 0 alone.
        draws = np.random.default_rng([round.seed, 0, 1])
        parts: list[list[NDArray[np.int64]]] = [[] for _ in range(self._count())]
        first = 0
        for size in self._sizes:
            order = first + draws.permutation(size)
            length = size // len(parts)
            for place, part in enumerate(parts):
                part.append(order[place * length : (place + 1) * length if place + 1 < len(parts) else size])
            first += size
        return [np.sort(np.concatenate(part)) for part in parts]
