"""AD-PSGD: clients that do not wait for each other average in pairs."""

from __future__ import annotations

import meshfold as mf
from meshfold.methods._events import OWN, Asynchronous, Event, Window, links
from meshfold.methods._help import with_keys_of
from meshfold.methods._versions import Version


@with_keys_of(Asynchronous, "Keys of time")
class AdPsgd(Asynchronous, mf.Method):
    """AD-PSGD. Client i works without a pause, and others may change its model meanwhile:

        it reads y = x_i, and makes its local steps on it: y' = y - eta g_i(y) - ...
        then it draws a neighbour j, and both average:   x_i, x_j <- (x_i + x_j) / 2
        x_i <- x_i + y' - y

    Each average preserves the mean of all models. It takes two messages, one in each direction at the same time; it happens when both
    have arrived, and i begins its next bout then.

    A round is a window of simulated time; the keys of time stand below. `own.staleness` is how often x_i has
    changed between the reading of y and the update, `own.bouts` how many bouts of local work each client has ended.

    # Interpretation
    Averages are atomic, so that there are no deadlocks and the overlay need not be bipartite. A client with no neighbour that takes part,
    or whose neighbour is gone when its model arrives, makes its update alone. With more than one local step the update is their sum;
    momentum begins at zero in each bout.

    Source: Lian, Zhang, Zhang and Liu, ICML 2018 (arXiv 1710.06952), Algorithm 1.
    """

    mixes_by_weights = False

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        found = set(map(tuple, links(round).tolist()))
        one_way = [(sender, receiver) for sender, receiver in found if (receiver, sender) not in found] if round.directed else []
        if one_way:
            sender, receiver = min(one_way)
            raise ValueError(
                f"ad_psgd: client {sender} may send to client {receiver} and not the other way, but clients average in pairs: use an "
                "undirected overlay"
            )
        super().round(models, round)

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        # As many bouts as clients, each with a message in either direction.
        return {} if self.window is not None else {"bytes": 2 * about.clients * about.model_bytes}

    def trained(self, window: Window, event: Event, after: Version) -> None:
        assert event.version is not None
        update = window.versions.sum([(1.0, after), (-1.0, event.version)])
        client, partners = event.client, window.receivers(event.client)
        if not partners:
            window.happens(event.time, client, OWN, update, sender=client, age=event.age, about=-1)
            return
        partner = partners[int(window.draws.integers(len(partners)))]
        ends = max(window.transfer(event.time, client, partner), window.transfer(event.time, partner, client))
        window.happens(ends, client, OWN, update, sender=client, age=event.age, about=partner)

    def acts(self, window: Window, event: Event) -> None:
        """The models of both have arrived."""
        assert event.version is not None
        client, partner, models = event.client, event.about, window.models
        # Averages of one moment follow on each other, so that all changes count.
        window.ages.append(int(window.changes[client]) - event.age)
        if partner >= 0 and window.alive[partner]:
            mean = window.versions.sum([(0.5, models[client]), (0.5, models[partner])])
            window.becomes(partner, mean)
            models[client] = mean
        window.becomes(client, window.versions.sum([(1.0, models[client]), (1.0, event.version)]))
        window.begin_bout(event.time, client)
