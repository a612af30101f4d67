"""FedAsync: a server that moves towards each model when it comes."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._async_server import AsyncServer
from meshfold.methods._events import Asynchronous, Window
from meshfold.methods._help import with_keys_of
from meshfold.methods._versions import Version


@with_keys_of(Asynchronous, "Keys of time")
class FedAsync(AsyncServer, mf.Method):
    """FedAsync. There is a server and no overlay: drop `topology`. Client i works without a pause:

        it gets the server's model x, and makes its local steps on it: y_i = x - eta g_i(x) - ...
        when y_i arrives, the server takes  x <- (1 - a) x + a y_i,  a = mixing (1 + t)^-staleness_exponent

    t is how often the server's model has changed since the client got it. The client then gets the new model. The models that are judged
    are the server's.

    A message is a whole model in either direction. A round is a window of simulated time; the keys of time stand below. `own.staleness` is t,
    `own.bouts` how many bouts of local work each client has ended.

    # Interpretation
    All clients that take part work all the time. Momentum begins at zero in each bout. `pull` of the local objective is left out: the
    paper's rho is 0.

    Source: Xie, Koyejo and Gupta, 2019 (arXiv 1903.03934), Algorithm 1 with the polynomial staleness function.

    Attributes:
        mixing: alpha, how far the server moves towards a model that is not stale.
        staleness_exponent: a of the staleness function; 0 counts all alike.
    """

    mixing: float = 0.6

    def check(self) -> None:
        super().check()
        if not 0 < self.mixing <= 1:
            raise mf.KeyFault.value("mixing", "a number above 0 and at most 1")

    def message(self, window: Window, before: Version, after: Version) -> Version:
        return after

    def heard(self, window: Window, message: Version, weight: float) -> None:
        share = self.mixing * weight
        self.set_model(window, window.versions.sum([(1 - share, window.models[0]), (share, message)]))
