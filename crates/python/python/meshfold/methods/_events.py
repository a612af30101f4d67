"""Events instead of rounds: who computes and who hears from whom, and when, in simulated time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

import meshfold as mf
from meshfold.methods._versions import Version, Versions

#: Nanoseconds in a second. Times are whole numbers of them, so that sums of them are exact.
SECOND = 10**9

#: The longest simulated time: 31 years, which 64 bits hold with room for what is under way.
MOST_SECONDS = 1e9

#: Kinds of events: a client ends a bout of local work; a client does something else of its own; a message arrives.
TRAINED, OWN, ARRIVED = range(3)


class Event(NamedTuple):
    """What happens at a client. Events of one moment happen in the order of clients, and of one client in that of their numbers.

    Attributes:
        time: when, in nanoseconds.
        client: at which client.
        number: how many events were made before.
        kind: `TRAINED`, `OWN` or `ARRIVED`.
        sender: whose model it is about.
        age: how often that model had changed when `version` was taken.
        about: a number that the method may use.
        version: the model that is trained or sent.
    """

    time: int
    client: int
    number: int
    kind: int
    sender: int
    age: int
    about: int
    version: Version | None


class Letter(NamedTuple):
    """A model that a client keeps for later, with the `sender`, `age` and `about` of the event that brought it."""

    sender: int
    age: int
    about: int
    version: Version


class Speeds(NamedTuple):
    """How fast clients and links are in a window.

    Attributes:
        step_seconds: seconds of a local step of each client, `[N]`.
        usual_step_seconds: the same without what is drawn for each round.
        latency: seconds from the sending of a message to its arrival, if it has no bytes.
        bandwidth: bytes that a client sends in a second; without end if `None`.
    """

    step_seconds: NDArray[np.float64]
    usual_step_seconds: NDArray[np.float64]
    latency: float
    bandwidth: float | None


class Window:
    """One round: what happens in a window of simulated time.

    Attributes:
        end: when it ends, in nanoseconds.
        models: the model of each client, as it is at the time of the event that is being dealt with.
        mail: the models that each client keeps for later, by any number of the method's.
        draws: what the method draws by.
        now: the time of the event that is being dealt with.
        changes: how often the model of each client has changed in the whole run, `[N]`.
        ages: how often a model had changed since the version was taken that is now used, for each use in this window.
        bouts: how many bouts of local work each client has ended in this window, `[N]`.
    """

    def __init__(self, method: Asynchronous, models: mf.Stack, round: mf.Round) -> None:
        self.round = round
        self.method = method
        clients = round.clients
        self.alive = round.alive
        self.steps = local_steps(round)
        #: How fast clients and links are, and the nanoseconds of one bout of each client, `[N]`.
        self.speeds = method.speeds(round)
        self.bout = nanoseconds(self.steps * self.speeds.step_seconds)
        usual = nanoseconds(self.steps * self.speeds.usual_step_seconds)
        length = method.window * SECOND if method.window is not None else clients / (1 / usual).sum()
        length = max(1, int(np.rint(length)))
        if round.number * length > MOST_SECONDS * SECOND:
            raise ValueError(f"the simulated time is beyond {MOST_SECONDS:.0e} seconds: choose a smaller `window` or `seconds_per_step`")
        self.begin, self.end = (round.number - 1) * length, round.number * length
        self.now = self.begin
        self.draws = np.random.default_rng([round.seed, round.number])
        self.message_bytes = 4 * models.shape[1]
        self.changes = method.changes
        self.ages: list[int] = []
        #: The last moment at which the model of a client changed in this window, and how often it had changed before that moment.
        self._changed: dict[int, tuple[int, int]] = {}
        self.bouts = np.zeros(clients, int)
        self.versions = Versions(clients, method.kept)
        self.models = list(self.versions.models)
        self.mail: list[dict[int, Letter]] = [{} for _ in range(clients)]
        self._lost = round.loss_probability
        #: What decides which messages are lost, apart from all other draws.
        self._losses = np.random.default_rng([round._loss_seed, round.number, 1])
        self._sent: list[tuple[int, int]] = []
        self._bytes: list[int] = []
        #: The clients that send to a server, and those that it sends to, one for each message, which is that of a whole model.
        self.to_server: list[int] = []
        self.from_server: list[int] = []
        kept = self.versions.kept
        for client, place, sender, age, about, version in method.letters.tolist():
            self.mail[client][place] = Letter(sender, age, about, kept[version])
        events = [Event._make([*numbers, None if version < 0 else kept[version]]) for *numbers, version in method.events.tolist()]
        self._heap = [event for event in events if self.alive[event.client]]
        heapq.heapify(self._heap)
        self.versions.loaded.update(self._loaded())
        self._neighbours = neighbours(round) if method.overlay else None

    @cached_property
    def mixing(self) -> NDArray[np.float64]:
        """The mixing weights of the overlay, `[N, N]`."""
        return self.round.mixing.numpy()

    def idle(self) -> list[int]:
        """The clients that take part and have nothing of their own before them: they begin, or have been absent."""
        busy = {event.client for event in self._heap if event.kind != ARRIVED}
        return [client for client in np.flatnonzero(self.alive).tolist() if client not in busy]

    def events(self) -> Iterator[Event]:
        """The events up to the end of the window, in their order, with those that come up meanwhile."""
        while self._heap and self._heap[0].time <= self.end:
            event = heapq.heappop(self._heap)
            self.now = event.time
            yield event

    def happens(
        self, time: int, client: int, kind: int, version: Version | None = None, *, sender: int = -1, age: int = 0, about: int = 0
    ) -> None:
        """Something will happen at a client, unless it is a message that is lost."""
        if kind != ARRIVED or self._lost == 0 or self._losses.random() >= self._lost:
            heapq.heappush(self._heap, Event(time, client, self.method.numbered, kind, sender, age, about, version))
        self.method.numbered += 1

    def begin_bout(self, time: int, client: int, version: Version | None = None, *, about: int = 0, bouts: int = 1) -> None:
        """A client begins its local work on a version, or on its model as it is; it takes as long as `bouts` bouts."""
        version = version or self.models[client]
        ends = time + bouts * int(self.bout[client])
        self.happens(ends, client, TRAINED, version, sender=client, age=int(self.changes[client]), about=about)

    def receivers(self, client: int) -> list[int]:
        """To whom a client may send: neighbours that take part, or all others where there is no overlay."""
        if self._neighbours is None:
            return [other for other in np.flatnonzero(self.alive).tolist() if other != client]
        return self._neighbours[client]

    def transfer(self, time: int, sender: int, receiver: int, bytes: int | None = None) -> int:
        """Counts a message, that of a whole model if `bytes` is absent, and returns when it arrives."""
        size = self.message_bytes if bytes is None else bytes
        self._sent.append((sender, receiver))
        self._bytes.append(size)
        return self._under_way(time, sender, size)

    def transfer_to_server(self, time: int, sender: int) -> int:
        """Counts a whole model that a client sends to the server, and returns when it arrives."""
        self.to_server.append(sender)
        return self._under_way(time, sender, self.message_bytes)

    def _under_way(self, time: int, sender: int, size: int) -> int:
        """When a message arrives. The link of a client carries one after another."""
        method, speeds = self.method, self.speeds
        if speeds.bandwidth is not None:
            time = max(time, int(method.link_free[sender])) + int(np.rint(size / speeds.bandwidth * SECOND))
            method.link_free[sender] = time
        return time + int(np.rint(speeds.latency * SECOND))

    def link_is_free(self, time: int, client: int) -> bool:
        """Whether nothing that a client has sent still waits for its link."""
        return bool(self.method.link_free[client] <= time)

    def send(self, time: int, sender: int, receiver: int, *, about: int = 0, bytes: int | None = None) -> None:
        """A client sends its model as it is."""
        arrives = self.transfer(time, sender, receiver, bytes)
        age = int(self.changes[sender])
        self.happens(arrives, receiver, ARRIVED, self.models[sender], sender=sender, age=age, about=about)

    def keep(self, event: Event, place: int) -> None:
        """A client keeps the message that arrived for later, in place of one that it kept at the same place."""
        assert event.version is not None, "a message has a version"
        self.mail[event.client][place] = Letter(event.sender, event.age, event.about, event.version)

    def uses(self, sender: int, age: int) -> None:
        """Notes that another client uses a version of the model of `sender`, which had changed `age` times when it was taken.

        Changes of this very moment do not count: which of two clients is the first in it says nothing of how old a model is.
        """
        moment, before = self._changed.get(sender, (-1, 0))
        self.ages.append(max(0, (before if moment == self.now else int(self.changes[sender])) - age))

    def becomes(self, client: int, version: Version) -> None:
        """The model of a client changes."""
        self.models[client] = version
        if self._changed.get(client, (-1, 0))[0] != self.now:
            self._changed[client] = (self.now, int(self.changes[client]))
        self.changes[client] += 1

    def _loaded(self) -> dict[int, Version]:
        """The version on which each client trains at the time."""
        return {event.client: event.version for event in self._heap if event.kind == TRAINED and event.version is not None}

    def close(self, models: mf.Stack) -> None:
        """Computes all models, and has the method keep what is under way."""
        places: dict[int, int] = {}
        kept: list[Version] = []

        def place(version: Version | None) -> int:
            if version is None:
                return -1
            if id(version) not in places:
                places[id(version)] = len(kept)
                kept.append(version)
            return places[id(version)]

        method, round = self.method, self.round
        events = [[*event[:-1], place(event.version)] for event in sorted(self._heap, key=lambda event: event[:3])]
        letters = [
            [client, number, letter.sender, letter.age, letter.about, place(letter.version)]
            for client, mail in enumerate(self.mail)
            for number, letter in sorted(mail.items())
        ]
        method.events = np.array(events, np.int64).reshape(-1, 8)
        method.letters = np.array(letters, np.int64).reshape(-1, 6)
        clients = range(round.clients)
        loaded = self._loaded()
        method.rows = self.versions.compute(method.rows, self.models, [loaded.get(client) for client in clients], kept, round)
        method.kept = len(kept)
        models.set(method.rows.gather(clients))
        if method.server:
            round.send(bytes=self.message_bytes, from_=self.to_server, to="server")
            round.send(bytes=self.message_bytes, from_="server", to=self.from_server)
        else:
            round.send(bytes=self._bytes, edges=np.array(self._sent, int).reshape(-1, 2))


class Asynchronous:
    """A method of events: a round is a window of simulated time.

    A method says what a client does when it begins (`begins`), when a bout of its local work ends (`trained`), when a message arrives
    (`arrived`), and when an event of its own is due (`acts`). A bout is the local steps of the configuration; clients differ in how long they
    take.

    Clients that take no part in a window stand still: what they were doing and the messages that are under way to them are lost, and they
    begin anew in the next window in which they take part. Stragglers make fewer steps in the bouts that end in a window. A message that is
    lost was sent, and nothing comes of it; methods whose clients wait for an answer refuse it.

    Speeds are those of the section `network`, with links that are alike, `links: {fixed: ...}`; the keys `seconds_per_step`, `sigma`,
    `slowdown`, `latency` and `bandwidth` are for configurations without it.

    Attributes:
        seconds_per_step: the simulated seconds of one local step, those of the median client where they differ.
        sigma: how different clients are: the standard deviation of the natural logarithm of their slowdown, drawn once by the seed.
        slowdown: how many times slower each client is, one number for each, in place of what `sigma` draws.
        latency: the seconds between the sending of a message and its arrival, if it has no bytes.
        bandwidth: the bytes that a client sends in a second; without end if absent.
        window: the seconds of a round; if absent, those in which as many bouts end as there are clients, if nobody waits for messages.
    """

    overlay: ClassVar[bool] = True
    server: ClassVar[bool] = False
    stacks: ClassVar[int] = 12
    has_own_clock: ClassVar[bool] = True
    sends_models: ClassVar[bool] = False
    needs_even_links: ClassVar[bool] = True

    seconds_per_step: float = 1.0
    sigma: float = 0.0
    slowdown: list[float] | None = None
    latency: float = 0.0
    bandwidth: float | None = None
    window: float | None = None

    def check(self) -> None:
        if not 1e-9 <= self.seconds_per_step <= 1e6:
            raise mf.KeyFault.value("seconds_per_step", "a number from 1e-9 to 1e6")
        if not 0 <= self.sigma <= 5:
            raise mf.KeyFault.value("sigma", "a number from 0 to 5")
        if self.slowdown is not None and not all(is_number(factor) and 1e-3 <= factor <= 1e3 for factor in self.slowdown):
            raise mf.KeyFault.value("slowdown", "a list of numbers from 0.001 to 1000, one for each client")
        if self.slowdown is not None and self.sigma > 0:
            raise mf.KeyFault.value("sigma", "0 beside `slowdown`, which says how slow each client is")
        if not 0 <= self.latency <= 1e6:
            raise mf.KeyFault.value("latency", "a number from 0 to 1e6")
        if self.bandwidth is not None and not 1 <= self.bandwidth <= 1e15:
            raise mf.KeyFault.value("bandwidth", "a number from 1 to 1e15")
        if self.window is not None and not 1e-9 <= self.window <= 1e6:
            raise mf.KeyFault.value("window", "a number from 1e-9 to 1e6")

    def start(self, models: mf.Stack, *about: mf.Start) -> None:
        clients = len(models)
        if self.slowdown is not None and len(self.slowdown) != clients:
            raise ValueError(f"slowdown: found {len(self.slowdown)} numbers, needed one for each of {clients} clients")
        #: The models, the rows in which clients train, and the versions that are under way or kept for later; see `Versions`.
        self.rows = models.gather([*range(clients), *range(clients)])
        #: How many versions there are.
        self.kept = 0
        #: The events to come, `[E, 8]`: the numbers of an `Event`, with the place of its version, -1 if it has none.
        self.events = np.zeros((0, 8), np.int64)
        #: What clients keep for later, `[L, 6]`: client, place, and the numbers of a `Letter`, with the place of its version.
        self.letters = np.zeros((0, 6), np.int64)
        self.numbered = 0
        self.changes = np.zeros(clients, np.int64)
        #: When the link of each client is free, in nanoseconds, `[N]`.
        self.link_free = np.zeros(clients, np.int64)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        window = Window(self, models, round)
        for client in window.idle():
            self.begins(window, window.begin, client)
        for event in window.events():
            if event.kind == TRAINED:
                assert event.version is not None, "a bout has a version"
                after = window.versions.trained(event.version, event.client, int(window.steps[event.client]))
                window.bouts[event.client] += 1
                self.trained(window, event, after)
            elif event.kind == OWN:
                self.acts(window, event)
            else:
                self.arrived(window, event)
        window.close(models)
        round.record("seconds", window.end / SECOND)
        round.record("bouts", window.bouts)
        if window.ages:
            round.record("staleness", float(np.mean(window.ages)))
            round.record("staleness_max", max(window.ages))

    def begins(self, window: Window, time: int, client: int) -> None:
        """A client takes part that has nothing before it: it begins, or was absent."""
        window.begin_bout(time, client)

    def trained(self, window: Window, event: Event, after: Version) -> None:
        """A bout of local work has made `after` of `event.version`."""
        raise NotImplementedError

    def acts(self, window: Window, event: Event) -> None:
        """An event of the method's own happens at a client."""
        raise NotImplementedError

    def arrived(self, window: Window, event: Event) -> None:
        """A message arrives."""
        raise NotImplementedError

    def speeds(self, round: mf.Round) -> Speeds:
        """How fast clients and links are: as `network` says, or else the keys of the method."""
        network = round.network
        if network is None:
            seconds = self._seconds_of_keys(round)
            return Speeds(seconds, seconds, self.latency, self.bandwidth)
        self._expect_unset("how long messages take", "latency", "bandwidth")
        latency, bandwidth = network.latency_seconds, network.bytes_per_second
        steps, usual = network.step_seconds, network.usual_step_seconds
        if steps is None or usual is None:
            seconds = self._seconds_of_keys(round)
            return Speeds(seconds, seconds, latency, bandwidth)
        self._expect_unset("how long local steps take", "seconds_per_step", "sigma", "slowdown")
        return Speeds(steps, usual, latency, bandwidth)

    def _seconds_of_keys(self, round: mf.Round) -> NDArray[np.float64]:
        """The seconds of a local step of each client by the keys of the method, `[N]`."""
        if self.slowdown is not None:
            return self.seconds_per_step * np.array(self.slowdown, float)
        # Rounds, by which all else is drawn, count from 1.
        draws = np.random.default_rng([round.seed, 0]).standard_normal(round.clients)
        return np.asarray(self.seconds_per_step * np.exp(self.sigma * draws))

    def _expect_unset(self, what: str, *keys: str) -> None:
        """Refuses keys that say what the network says."""
        for key in keys:
            if getattr(self, key) != getattr(Asynchronous, key):
                raise mf.KeyFault.value(key, f"none beside the section `network`, which says {what}")


def nanoseconds(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bouts of clients in whole nanoseconds, at least one, `[N]`."""
    if seconds.max() > MOST_SECONDS:
        raise ValueError(f"the slowest client needs {seconds.max():.3g} seconds for a bout, needed at most {MOST_SECONDS:.0e}")
    return np.maximum(1, np.rint(seconds * SECOND)).astype(np.int64)


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def local_steps(round: mf.Round) -> NDArray[np.int64]:
    """The local steps of a bout of each client, `[N]`, whatever stragglers manage."""
    (unit, count), = round.settings["local"].items()
    sizes = round.shard_sizes.astype(np.int64)
    if unit == "steps":
        return np.full(round.clients, count, np.int64)
    batch = round.settings["batch_size"]
    batches = np.ones_like(sizes) if batch == "full" else -(-sizes // batch)
    return np.asarray(count * np.maximum(1, batches))


def links(round: mf.Round) -> NDArray[np.int64]:
    """The links of the round between clients that take part, `[E, 2]`."""
    return round.edges[round.alive[round.edges].all(axis=1)]


def neighbours(round: mf.Round) -> list[list[int]]:
    """To whom each client may send over the overlay of the round."""
    found: list[list[int]] = [[] for _ in range(round.clients)]
    for one, other in links(round).tolist():
        found[one].append(other)
        if not round.directed:
            found[other].append(one)
    return [sorted(some) for some in found]
