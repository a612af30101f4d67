"""A server that clients do not wait for each other at: what asynchronous methods with a server have in common."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

import meshfold as mf
from meshfold.methods._events import OWN, SECOND, Asynchronous, Event, Window
from meshfold.methods._versions import Version

#: What an event of a method's own is: a client gets the server's model, or the server what a client has made of it.
DOWN, UP = 0, 1


class AsyncServer(Asynchronous):
    """Clients train on the server's model of the moment when they asked for it, and send what they have made of it.

    A method says what a client sends (`message`) and what the server does with it (`heard`). The row of each client has the server's model.
    A message to the server takes its turn on the link of its client. The server's link carries any number of messages at once.

    Attributes:
        updates: how often the server's model has changed in the whole run.
    """

    overlay: ClassVar[bool] = False
    server: ClassVar[bool] = True
    staleness_exponent: float = 0.5

    def check(self) -> None:
        super().check()
        if not 0 <= self.staleness_exponent <= 10:
            raise mf.KeyFault.value("staleness_exponent", "a number from 0 to 10")

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        super().start(models, *about)
        self.updates = 0

    def forecast(self, about: mf.PlannedRound) -> dict[str, float]:
        # As many bouts as clients, each with a message in either direction.
        return {} if self.window is not None else {"bytes": 2 * about.clients * about.model_bytes}

    def begins(self, window: Window, time: int, client: int) -> None:
        self._send_down(window, time, client)

    def trained(self, window: Window, event: Event, after: Version) -> None:
        assert event.version is not None
        message = self.message(window, event.version, after)
        arrives = window.transfer_to_server(event.time, event.client)
        # `about` has the updates that the version had seen which the bout was on.
        window.happens(arrives, event.client, OWN, message, sender=UP, age=event.about)

    def acts(self, window: Window, event: Event) -> None:
        assert event.version is not None
        if event.sender == DOWN:
            window.begin_bout(event.time, event.client, event.version, about=event.age)
            return
        staleness = self.updates - event.age
        window.ages.append(staleness)
        self.heard(window, event.version, (1 + staleness) ** -self.staleness_exponent)
        self._send_down(window, event.time, event.client)

    def message(self, window: Window, before: Version, after: Version) -> Version:
        """What a client sends that has trained on `before`."""
        raise NotImplementedError

    def heard(self, window: Window, message: Version, weight: float) -> None:
        """The server gets a message, which counts by a weight that falls with its staleness."""
        raise NotImplementedError

    def set_model(self, window: Window, version: Version) -> None:
        """The server's model changes."""
        window.models[:] = [version] * len(window.models)
        self.updates += 1

    def _send_down(self, window: Window, time: int, client: int) -> None:
        speeds = window.speeds
        seconds = 0.0 if speeds.bandwidth is None else window.message_bytes / speeds.bandwidth
        arrives = time + int(np.rint(seconds * SECOND)) + int(np.rint(speeds.latency * SECOND))
        window.from_server.append(client)
        window.happens(arrives, client, OWN, window.models[0], sender=DOWN, age=self.updates)
