"""SWIFT: clients that wait for nobody average with the newest models of their neighbours that have arrived."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._events import Asynchronous, Event, Window
from meshfold.methods._help import with_keys_of
from meshfold.methods._versions import Version


@with_keys_of(Asynchronous, "Keys of time")
class Swift(Asynchronous, mf.Method):
    """SWIFT. Client i works without a pause:

        it sends its model x_i to all neighbours, and makes its local steps on it: y = x_i - eta g_i(x_i) - ...
        in every (s + 1)-th bout:   x_i <- w_ii x_i + sum_j w_ij x_j^new,    x_j^new: the newest model that has come from j
        x_i <- x_i + y - (the x_i on which the steps were made)

    With s = 0, clients of the same speed, no latency and one local step this is D-SGD in the form x <- W x - eta g(x). The weights are
    those of the configuration.

    A round is a window of simulated time; the keys of time stand below. `own.staleness` is how many bouts
    behind the models are that were averaged, 0 among equals without latency, `own.bouts` how many bouts of local work each client has ended.

    # Interpretation
    The weight of a neighbour from which nothing has come goes to the client's own model. A client whose link is still busy with what it
    has sent before sends nothing. What a neighbour has sent that takes no part in the window has no weight. The paper's weights by how
    often clients are active (CCS) are not here. Momentum begins at zero in each bout.

    Source: Bornstein, Rabbani, Wang, Bedi and Huang, ICLR 2023 (arXiv 2210.14026), Algorithm 1.

    Attributes:
        skips: s, how many bouts between two averages end without one.
        memory: whether a model of a neighbour counts again in later averages, until a newer one comes.
    """

    may_lose_messages = True

    skips: int = 0
    memory: bool = True

    def check(self) -> None:
        super().check()
        if self.skips < 0:
            raise mf.KeyFault.value("skips", "a whole number of at least 0")

    def begins(self, window: Window, time: int, client: int) -> None:
        if window.link_is_free(time, client):
            for neighbour in window.receivers(client):
                window.send(time, client, neighbour)
        window.begin_bout(time, client)

    def arrived(self, window: Window, event: Event) -> None:
        window.keep(event, event.sender)

    def trained(self, window: Window, event: Event, after: Version) -> None:
        assert event.version is not None
        client, mail = event.client, window.mail[event.client]
        parts = [(1.0, window.models[client]), (1.0, after), (-1.0, event.version)]
        # Each bout has changed the model once.
        if (int(window.changes[client]) + 1) % (self.skips + 1) == 0:
            for letter in mail.values():
                weight = float(window.mixing[client, letter.sender])
                if weight != 0:
                    parts += [(weight, letter.version), (-weight, window.models[client])]
                    window.uses(letter.sender, letter.age)
            if not self.memory:
                mail.clear()
        window.becomes(client, window.versions.sum(parts))
        self.begins(window, event.time, client)
