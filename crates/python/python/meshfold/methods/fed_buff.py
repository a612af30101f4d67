"""FedBuff: a server that takes a step when so many clients have been heard."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._async_server import AsyncServer
from meshfold.methods._events import Asynchronous, Letter, Window
from meshfold.methods._help import with_keys_of
from meshfold.methods._versions import Version


@with_keys_of(Asynchronous, "Keys of time")
class FedBuff(AsyncServer, mf.Method):
    """FedBuff. There is a server and no overlay: drop `topology`. Client i works without a pause:

        it gets the server's model x, and makes its local steps on it: y_i = x - eta g_i(x) - ...
        it sends d_i = y_i - x, which the server adds to its buffer times (1 + t)^-staleness_exponent
        when the buffer has K of them:  x <- x + server_rate / K sum of the buffer,  which is then empty

    t is how often the server's model has changed since the client got it. The client then gets the server's model, changed or not. The models
    that are judged are the server's.

    A message is a whole model in either direction. A round is a window of simulated time; the keys of time stand below. `own.staleness` is t,
    `own.bouts` how many bouts of local work each client has ended.

    # Interpretation
    All clients that take part work all the time, where the paper keeps a number of them busy. Momentum begins at zero in each bout.

    Source: Nguyen, Malik, Zhan, Yousefpour, Rabbat, Malek and Huba, AISTATS 2022 (arXiv 2106.06639), Algorithms 1 and 2.

    Attributes:
        buffer: K.
        server_rate: the server's learning rate.
        staleness_exponent: how fast the weight of a message falls with its staleness; 0 counts all alike.
    """

    buffer: int = 10
    server_rate: float = 1.0

    def check(self) -> None:
        super().check()
        if self.buffer < 1:
            raise mf.KeyFault.value("buffer", "a whole number of at least 1")
        if not 0 < self.server_rate <= 1e3:
            raise mf.KeyFault.value("server_rate", "a number above 0 and at most 1000")

    def message(self, window: Window, before: Version, after: Version) -> Version:
        return window.versions.sum([(1.0, after), (-1.0, before)])

    def heard(self, window: Window, message: Version, weight: float) -> None:
        # The buffer is a letter that the first client keeps for the server, with the number of messages in it.
        mail = window.mail[0]
        held = mail.pop(0, None)
        count = 1 if held is None else held.age + 1
        whole = window.versions.sum([(weight, message)] if held is None else [(1.0, held.version), (weight, message)])
        if count < self.buffer:
            mail[0] = Letter(0, count, 0, whole)
            return
        self.set_model(window, window.versions.sum([(1.0, window.models[0]), (self.server_rate / count, whole)]))
