"""Methods that are written in Python."""

from __future__ import annotations

import dis
import functools
import importlib
import inspect
import json
import math
import numbers
import re
import sys
import traceback as _traceback
import warnings
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, SupportsFloat, get_origin, get_type_hints

from meshfold import _digests, _key_types, _remedies, _shared_modules, _torch_draws, _unread, _unseeded, _unsent
from meshfold._errors import MeshfoldWarning
from meshfold._libraries import is_library_file

if TYPE_CHECKING:
    from meshfold._meshfold import PlannedRound, Round, Stack, Start

#: All defined methods by name; if several share a name, the last one, and never a published one.
METHODS: dict[str, type[Method]] = {}

#: Methods that took the name of another one, which no configuration can reach any more, until their user is told.
_REPLACED: weakref.WeakKeyDictionary[type[Method], type[Method]] = weakref.WeakKeyDictionary()

#: The attribute of a method that is being checked with the names of the keys that a configuration gives. It is empty if these are all.
GIVEN = "_meshfold_given"

#: The keys that every method has; Meshfold itself reads them.
COMMON = ("local", "batch_size", "draw", "learning_rate", "momentum", "nesterov", "weight_decay", "clip_norm")

#: The type and its description for each class attribute that Meshfold reads; these are not keys.
_ATTRIBUTES: dict[str, tuple[type, str]] = {
    "name": (str, "text"),
    "version": (str, "text"),
    "overlay": (bool, "true or false"),
    "server": (bool, "true or false"),
    "mixes_by_weights": (bool, "true or false"),
    "has_own_clock": (bool, "true or false"),
    "sends_models": (bool, "true or false"),
    "needs_lasting_overlay": (bool, "true or false"),
    "may_lose_messages": (bool, "true or false"),
    "needs_even_links": (bool, "true or false"),
    "stacks": (int, "a whole number"),
}


class Method:
    """A method of your own: what all clients do in a round, written once for all of them.

    A configuration refers to a subclass by its name: `algorithm: {own: {name: choco, gamma: 0.4, batch_size: 20,
    learning_rate: 0.1}}`. The annotated attributes of the class are its keys, with their defaults. All methods also have the keys
    `local`, `batch_size`, `learning_rate`, `momentum` and a few more.

    Checkpoints hold the stacks, numbers and arrays that `start` and `round` set as attributes, and the keys. Attributes whose names
    begin with an underscore are not kept; Meshfold warns if rounds change them.

        class Dsgd(mf.Method):
            def round(self, models, round):
                round.train(models)
                round.send(models)
                models.mix(round.mixing)

    Attributes:
        name: the name in configurations; if absent, that of the class in snake case, such as `my_dsgd` for `MyDsgd`.
        version: distinguishes methods with the same name, as part of the id of a run. If absent, it is a digest of the class's code
            and of all that this code refers to, except libraries.
        overlay: whether models are exchanged over an overlay of the configuration.
        server: whether there is a server, which `round.send` may name. It is a node of the simulated network, behind the clients.
        mixes_by_weights: whether the mixing weights of the configuration have an effect. If not, a plan warns of `weights`, and of nothing
            that they would do.
        has_own_clock: whether the method simulates time itself, for clients that do not go in rounds. It records the time at the end of each
            round by `round.record("seconds", ...)`, which is then `simulated_seconds`, too. The speeds of a `network` are `round.network`; a run
            warns if there is one and the method does not read it.
        sends_models: whether clients send whole models, by `round.send(models)` or `round.send(stack, models=True)`. If not, a plan refuses
            `evaluate: {membership: {models: sent}}`.
        needs_lasting_overlay: whether it is made for an overlay whose links stay. If so, a plan warns of one that changes or whose links
            fail for a time.
        may_lose_messages: whether `failures: [{messages: {probability: 0.1}}]` has a meaning: the method averages what arrives, by
            `round.mixing` or over the arcs of `round.edges`, and no client keeps what another is thought to know. A method with a clock of its own
            or without an overlay loses each message with the probability `round.loss_probability`. A plan refuses messages that are lost without it.
        needs_even_links: whether it reads `round.network.latency_seconds` and `bytes_per_second`. If so, a plan refuses a `network` whose links
            differ or whose bandwidths change.
        stacks: the most stacks that it holds besides the models; memory is planned for them.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    overlay: ClassVar[bool] = True
    server: ClassVar[bool] = False
    mixes_by_weights: ClassVar[bool] = True
    has_own_clock: ClassVar[bool] = False
    sends_models: ClassVar[bool] = True
    needs_lasting_overlay: ClassVar[bool] = False
    may_lose_messages: ClassVar[bool] = False
    needs_even_links: ClassVar[bool] = False
    stacks: ClassVar[int] = 4

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" not in cls.__dict__:
            cls.name = _automatic_name(cls)
        _check_attributes(cls)
        if "version" not in cls.__dict__:
            _digests.expect_told(cls, _no_content_of(cls))
            setattr(cls, "version", _Version())
        if _is_published(cls):
            METHODS.setdefault(cls.name, cls)
        else:
            before = METHODS.get(cls.name)
            if before is not None and not _is_published(before) and _place(before) != _place(cls):
                _REPLACED[cls] = before
            METHODS[cls.name] = cls

    def check(self, *settings: Any, **_: Any) -> None:
        """Checks the keys, each an attribute by its name, before any run begins. Raise `KeyFault.value(key, needed)` if a value cannot work: the
        error marks its line. A `ValueError` marks the method as a whole.

        A method may take an argument, `def check(self, settings)`: a dict of all its keys, those that all methods have among them, as
        `round.settings` has them.
        """

    def forecast(self, about: PlannedRound) -> Mapping[str, SupportsFloat]:
        """What a round takes on average, for plans: `local_steps` of all clients together, and the `bytes` that they send.

        What it leaves out is what `mf.plan` expects of most methods: the steps that `local` asks for, and a model to each neighbour; to and from
        the server, if the method has one. It has the keys as attributes, but not what `start` makes. It changes no numbers, and is no part of a
        run's id.

            def forecast(self, about):
                return {"bytes": 2 * about.to_neighbours(about.model_bytes)}
        """
        return {}

    def start(self, models: Stack, *about: Any, **_: Any) -> None:
        """Makes what the method keeps between rounds; called before the first. `models`, `[R, P]`, is a copy of the initial models.

        A method may take a second argument, `def start(self, models, about: mf.Start)`: the rounds of the run, its seed, its clients. One that
        builds on another method passes on all that it gets: `def start(self, models, *about)` with `super().start(models, *about)`.
        """

    def round(self, models: Stack, round: Round) -> None:
        """Advances `models`, `[R, P]`, by one communication round, in place."""
        raise NotImplementedError(f"{type(self).__name__} has no `round`")


class KeyFault(ValueError):
    """A key of a method is wrong; `kind` is `unknown`, `missing` or `value`.

        def check(self):
            if not 0 < self.share <= 1:
                raise mf.KeyFault.value("share", "a number above 0 and at most 1")

    Raised in `check`, it is an error at the line of the key, before any run begins. Raised in `start` or `round`, which know more, it ends the run
    with an error that has the key and its value, and no traceback.
    """

    def __init__(
        self, kind: str, key: str, *, known: list[str] | None = None, needed: str | None = None
    ) -> None:
        super().__init__(f"{key}: {needed or kind}")
        self.kind = kind
        self.key = key
        self.known = known
        self.needed = needed

    def __reduce__(self) -> tuple[Any, ...]:
        again = functools.partial(type(self), known=self.known, needed=self.needed)
        return again, (self.kind, self.key)

    @classmethod
    def value(cls, key: str, needed: str) -> KeyFault:
        """The value of `key` cannot work; `needed` describes one that would, such as `a number above 0`."""
        return cls("value", key, needed=needed)


def _automatic_name(cls: type[Method]) -> str:
    """The name of a class that gives none. One that is called like a class that it builds on takes over the name of that."""
    for base in cls.__mro__[1:]:
        if base is not Method and issubclass(base, Method) and base.__name__ == cls.__name__:
            return base.name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def _own_keys(cls: type) -> set[str]:
    """The keys that the class adds to those of its base classes."""
    if sys.version_info >= (3, 14):
        import annotationlib

        hints = annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    else:
        hints = inspect.get_annotations(cls)
    return {key for key, hint in hints.items() if key not in _ATTRIBUTES and "ClassVar" not in str(hint)}


def _check_attributes(cls: type[Method]) -> None:
    """Refuses attributes that cannot work.

    Raises:
        TypeError: if an attribute that Meshfold reads has a wrong type, or a key has the name of a key or function of all methods.
    """
    for name, (kind, needed) in _ATTRIBUTES.items():
        # A version is not inherited.
        value = cls.__dict__.get(name, "") if name == "version" else getattr(cls, name, "")
        # True is a whole number to Python.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(f"{cls.__name__}.{name} is {value!r}, needed {needed}")
    if not cls.name:
        raise TypeError(f"{cls.__name__}.name is empty, needed a name")
    for base in cls.__mro__:
        slots = vars(base).get("__slots__", ())
        slots = [slots] if isinstance(slots, str) else list(slots)
        if base is not object and set(slots) - {"__dict__", "__weakref__"}:
            raise TypeError(
                f"{cls.__name__}: the class {base.__name__} has `__slots__`, and no checkpoint holds attributes in slots: take `__slots__` out of it"
            )
    for key in sorted(_own_keys(cls)):
        if key in COMMON:
            raise TypeError(f"{cls.__name__}.{key}: all methods have a key `{key}`, which `round.train` goes by: name this one otherwise")
        if hasattr(Method, key):
            raise TypeError(f"{cls.__name__}.{key}: `{key}` is a function of all methods: name this key otherwise")


class _Version:
    """The version of a method that gives none: a digest, made anew whenever it is read, as what the class refers to may change."""

    def __get__(self, method: Method | None, cls: type[Method]) -> str:
        return _digests.of_class(cls, _no_content_of(cls))


def _no_content_of(cls: type[Method]) -> Callable[[type], Collection[str]]:
    """The attributes of the class and its bases that digests leave out: no number of a run goes by them. Keys are part of its id anyway."""
    return lambda kind: {"name", "version", "forecast", "sends_models", *_own_keys(kind)} if kind in cls.__mro__ else ()


def own_values(cls: type) -> dict[str, Any]:
    """The attributes of a class that are neither functions nor keys, and that Meshfold does not read."""
    left_out = {*_ATTRIBUTES, *_own_keys(cls)}
    values = {name: value for name, value in vars(cls).items() if name not in left_out and not name.startswith("__") and name != "_abc_impl"}
    return {name: value for name, value in values.items() if not callable(value) and not hasattr(type(value), "__get__")}


def keys_of(cls: type[Method]) -> dict[str, Any]:
    """The keys of a method with their types."""
    hints = get_type_hints(cls)
    return {key: hint for key, hint in hints.items() if key not in _ATTRIBUTES and get_origin(hint) is not ClassVar}


def read_keys(cls: type[Method], text: str, common: str) -> str:
    """Checks the method and the keys in the JSON `text`, adds the defaults of missing ones, and returns all as JSON. `common` has those of all
    methods."""
    _tell_of_replaced(cls)
    given: dict[str, Any] = json.loads(text)
    hints = keys_of(cls)
    for key in given:
        if key not in hints:
            _expect_hint(cls, key)
            raise KeyFault("unknown", key, known=[*hints, *COMMON])
    keys = {}
    for key, hint in hints.items():
        if _key_types.is_array(hint):
            raise _Refusal(
                f"{cls.__name__}.{key}: its type hint is an array, which no configuration has: let it be `list[float]`, and make an array of it in "
                "`start`"
            )
        if key in given:
            value = given[key]
        elif hasattr(cls, key):
            value = getattr(cls, key)
        else:
            raise KeyFault("missing", key)
        needed = _key_types.needed(value, hint)
        if needed is not None:
            raise KeyFault.value(key, needed)
        keys[key] = _key_types.as_hinted(value, hint)
    for key, value in keys.items():
        _expect_plain(cls, key, value)
    method = make(cls, json.dumps(keys))
    # The `config.yaml` of a run has all keys, whether or not its user gave them.
    setattr(method, GIVEN, frozenset(given) if len(given) < len(hints) else frozenset())
    _expect_functions(method)
    if not _is_published(cls):
        _unread.tell_of(cls, cls.name, given)
        _unseeded.tell_of(cls, cls.name)
        _shared_modules.tell_of(cls, cls.name)
        if cls.overlay:
            _unsent.tell_of(cls, cls.name)
    _check(method, {**json.loads(common), **keys})
    return json.dumps(keys)


def _check(method: Method, settings: dict[str, Any]) -> None:
    """Calls the `check` of `method`, with `settings` if it takes an argument.

    Raises:
        _Refusal: in place of a `ValueError` that `check` raises itself, with which it refuses its keys.
    """
    checks: Callable[..., object] = method.check
    try:
        checks(settings) if _takes_more_than(checks, 0) else checks()
    except KeyFault:
        raise
    except ValueError as error:
        frames = [frame for frame, _ in _traceback.walk_tb(error.__traceback__)]
        if frames[-1].f_code.co_name != "check":
            raise
        raise _Refusal(str(error)) from None


def _expect_plain(cls: type, key: str, value: Any) -> None:
    """Refuses a default that no configuration can have."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise _Refusal(
            f"{cls.__name__}.{key}: its default is {value!r}, needed finite numbers, as configurations have no others: "
            f"`{key}: float | None = None` may stand for no number"
        ) from None
    except TypeError:
        kind = type(value)
        instead = {"Enum": "its value, such as a text", "PurePath": "a text, of which `start` makes a path"}
        remedy = next((words for base in kind.__mro__ for name, words in instead.items() if base.__name__ == name), None)
        if remedy is None and callable(value):
            remedy = "a text by which `start` finds the function"
        raise _Refusal(
            f"{cls.__name__}.{key}: its default is of type {kind.__name__}, needed what a configuration has, true or false, numbers, texts, lists, "
            f"maps or null{': ' + remedy if remedy else ''}. What is no key needs no type hint"
        ) from None


def _expect_hint(cls: type, key: str) -> None:
    """Refuses a key that is an attribute of the class without a type hint: its user took it for a key."""
    value = getattr(cls, key, None)
    if key not in _ATTRIBUTES and not key.startswith("_") and isinstance(value, (bool, int, float, str)):
        hint = f"{key}: {type(value).__name__} = {value!r}"
        raise KeyFault.value(key, f"`{hint}` in the class {cls.__name__}: only attributes with a type hint are keys")


def make(cls: type[Method], text: str) -> Method:
    """A method with the keys in the JSON `text`."""
    method, hints = cls(), keys_of(cls)
    for key, value in json.loads(text).items():
        setattr(method, key, _key_types.as_hinted(value, hints.get(key, Any)))
    return method


class _Refusal(ValueError):
    """What is wrong with a method or its keys, in words that need no traceback."""


@contextmanager
def faults_told(about: Start | Round) -> Iterator[None]:
    """Within, around `start` or `round`, a `KeyFault` becomes words that need no traceback: the key, what it was, and what it needs."""
    try:
        yield
    except KeyFault as fault:
        found = json.dumps(about.settings.get(fault.key))
        raise _Refusal(f"algorithm.own.{fault.key}: found {found}, needed {fault.needed or 'another one'}") from None


def _expect_functions(method: Method) -> None:
    """Makes sure that the functions of a method can be called as they will be.

    Raises:
        _Refusal: if one is missing or has other parameters.
    """
    kind = type(method)
    if kind.round is Method.round:
        raise _Refusal(f"the class {kind.__name__} has no `round`: define `def round(self, models, round)`")
    for name, takes in (("round", ("models", "round")), ("start", ("models", "about")), ("check", ("settings",)), ("forecast", ("about",))):
        function = getattr(method, name)
        may_lack = takes[-1] if name in ("start", "check") else None
        counts = (len(takes), len(takes) - 1) if may_lack else (len(takes),)
        if not any(_takes(function, count) for count in counts):
            needed = ", ".join(("self", *takes))
            optional = f", where `{may_lack}` may be left out" if may_lack else ""
            found = inspect.signature(getattr(function, "__func__", function))
            raise _Refusal(f"{kind.__name__}: found `def {name}{found}`, needed `def {name}({needed})`{optional}")
        _expect_order(kind, name, function, takes)


def _expect_order(kind: type, name: str, function: Callable[..., object], takes: tuple[str, ...]) -> None:
    """Refuses a function whose first parameters have the names of one another's places."""
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # Nothing is known of its parameters.
        return
    for place, parameter in enumerate(parameters[: len(takes)]):
        if parameter in takes and takes.index(parameter) != place:
            raise _Refusal(
                f"{kind.__name__}: found `{parameter}` as parameter {place + 1} of `{name}` after self, needed it as parameter "
                f"{takes.index(parameter) + 1}: `def {name}({', '.join(('self', *takes))})`"
            )


def _takes(function: Callable[..., object], count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # Nothing is known of its parameters.
        return True
    return True


def _tell_of_replaced(cls: type[Method]) -> None:
    """Warns, once, if the class took the name of another one."""
    before = _REPLACED.pop(cls, None)
    if before is not None:
        warnings.warn(
            f"two methods are called `{cls.name}`: {_place(before)} and, defined later, {_place(cls)}, which is the one that is run. Give one "
            "of them another `name`",
            MeshfoldWarning,
            stacklevel=4,
        )


def _place(cls: type) -> str:
    """Where a class is defined. That of a cell of a notebook that is run again stays the same."""
    return f"{cls.__module__}.{cls.__qualname__}"


def start(method: Method, models: Stack, about: Start) -> object:
    """Calls the `start` of `method`, with `about` if it takes a second argument."""
    begin: Callable[..., object] = method.start
    importlib.import_module("meshfold._shared").watch(method)
    # It may make modules of PyTorch.
    with _torch_draws.alone(), faults_told(about), _remedies.told():
        return begin(models, about) if _takes_more_than(begin, 1) else begin(models)


def forecast(cls: type[Method], text: str, about: PlannedRound) -> tuple[float | None, float | None]:
    """The local steps and bytes that a method with the keys in the JSON `text` forecasts; None of what it does not say."""
    told = make(cls, text).forecast(about)
    known = ("local_steps", "bytes")
    if not isinstance(told, Mapping) or not set(told) <= set(known):
        raise _Refusal(f"{cls.__name__}.forecast returned {told!r}, needed a dict with `local_steps`, `bytes` or both")
    for key, value in told.items():
        if not isinstance(value, numbers.Real) or not 0 <= float(value) < math.inf:
            raise _Refusal(f"{cls.__name__}.forecast: found {value!r} for `{key}`, needed a number, 0 or more")
    steps, sent = (None if key not in told else float(told[key]) for key in known)
    return steps, sent


def _takes_more_than(function: Callable[..., object], count: int) -> bool:
    """Whether a function takes more arguments than `count` by their places."""
    parameters = inspect.signature(function).parameters.values()
    places = [parameter for parameter in parameters if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    return len(places) > count or any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters)


def traceback(error: BaseException) -> str:
    """An exception as text, with its traceback where words alone do not tell what is wrong: the lines of the user's own files, and the line
    that raised it. What a published method refuses has none."""
    if isinstance(error, _Refusal) or _is_of_published(error):
        return str(error)
    told = _traceback.TracebackException.from_exception(error)
    _shorten(told)
    return "".join(told.format()).strip()


def _shorten(told: _traceback.TracebackException) -> None:
    """Leaves out the frames of Meshfold and of libraries, of which there may be dozens, but for the innermost one."""
    own = [frame for frame in told.stack if not is_library_file(frame.filename)]
    if own:
        innermost = [] if own[-1] is told.stack[-1] else [told.stack[-1]]
        told.stack = _traceback.StackSummary.from_list([*own, *innermost])
    for cause in (told.__cause__, told.__context__):
        if cause is not None:
            _shorten(cause)


def _is_of_published(error: BaseException) -> bool:
    """Whether `error` is a `ValueError` that the code of a published method raises itself, and not what this code calls."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or not isinstance(error, ValueError):
        return False
    code, module = place.tb_frame.f_code, str(place.tb_frame.f_globals.get("__name__"))
    return module.startswith("meshfold.methods.") and code.co_code[place.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _is_published(cls: type[Method]) -> bool:
    return cls.__module__.startswith("meshfold.methods.")


def classes(words: str | None = None) -> list[dict[str, Any]]:
    """All methods that have been defined, and the published ones. If `words` of the experiment are given, those that it does not name get
    no version, which would take a while."""
    importlib.import_module("meshfold.methods")
    return [
        # JSON has other letters for those beyond ASCII.
        {"name": name, "version": method.version if words is None or name in words or not name.isascii() else "", "class": method}
        for name, method in METHODS.items()
    ]
