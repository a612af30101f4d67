"""Methods that are written in Python."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import traceback as _traceback
import types
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from meshfold._meshfold import Stack

if TYPE_CHECKING:
    from meshfold._meshfold import Round

#: The methods that have been defined, by their names; of several that share one, the last.
METHODS: dict[str, type[Method]] = {}

#: The keys that every method has; Meshfold reads them.
COMMON = ("local", "batch_size", "draw", "learning_rate", "momentum", "weight_decay", "clip_norm")


class Method:
    """A method of your own: what all clients do in a round, written once for all of them.

    A subclass is known by its name, which a configuration gives: `algorithm: {own: {name: choco, gamma: 0.4, batch_size: 20,
    learning_rate: 0.1}}`. The annotated attributes of the class are its keys, with their defaults; `local`, `batch_size`,
    `learning_rate`, `momentum` and the other keys that all methods have come beside them.

    Stacks, numbers and arrays that `start` and `round` keep as attributes go into checkpoints; so they must be made in `start`,
    where they are numbers or arrays. What begins with an underscore is not kept.

        class Dsgd(mf.Method):
            def round(self, models, round):
                round.train(models)
                round.send(models)
                models.mix(round.mixing)

    Attributes:
        name: the name in configurations; that of the class in snake case if absent, `my_dsgd` for `MyDsgd`.
        version: tells methods of one name apart that compute something else, as part of the id of a run; a digest of the class's
            source if absent, where Python knows the source.
        overlay: whether models are exchanged over an overlay of the configuration.
        stacks: how many stacks it holds besides the models, at most: memory is planned by it.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    overlay: ClassVar[bool] = True
    stacks: ClassVar[int] = 4

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        if "version" not in cls.__dict__:
            cls.version = _digest(cls)
        METHODS[cls.name] = cls

    def check(self) -> None:
        """Checks the keys. Raise `KeyFault.value(key, needed)`, or a `ValueError`, where one cannot work."""

    def start(self, models: Stack) -> None:
        """Makes what outlasts a round, before the first. `models` is a copy of what all clients start from, `[R, P]`."""

    def round(self, models: Stack, round: Round) -> None:
        """Advances `models`, `[R, P]`, by one communication round, in place."""
        raise NotImplementedError(f"{type(self).__name__} has no `round`")


class KeyFault(ValueError):
    """A key of a method that is wrong; `kind` says how."""

    def __init__(
        self, kind: str, key: str, *, known: list[str] | None = None, needed: str | None = None
    ) -> None:
        super().__init__(f"{key}: {needed or kind}")
        self.kind = kind
        self.key = key
        self.known = known
        self.needed = needed

    @classmethod
    def value(cls, key: str, needed: str) -> KeyFault:
        """The value of `key` cannot work; `needed` says which would: `a number above 0`."""
        return cls("value", key, needed=needed)


def _digest(cls: type[Method]) -> str:
    """A digest of the source of `cls` and of the classes that it is made of, up to `Method`; empty where the source is not known."""
    bases = [base for base in cls.__mro__ if base not in Method.__mro__]
    try:
        source = "".join(inspect.getsource(base) for base in bases)
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def keys_of(cls: type[Method]) -> dict[str, Any]:
    """The keys of a method with their types."""
    hints = get_type_hints(cls)
    return {key: hint for key, hint in hints.items() if get_origin(hint) is not ClassVar}


def read_keys(cls: type[Method], text: str) -> str:
    """The keys in the JSON `text`, checked, with the defaults of those that are left out, as JSON."""
    given: dict[str, Any] = json.loads(text)
    hints = keys_of(cls)
    for key in given:
        if key not in hints:
            raise KeyFault("unknown", key, known=[*hints, *COMMON])
    keys = {}
    for key, hint in hints.items():
        if key in given:
            value = given[key]
        elif hasattr(cls, key):
            value = getattr(cls, key)
        else:
            raise KeyFault("missing", key)
        needed = _needed(value, hint)
        if needed is not None:
            raise KeyFault.value(key, needed)
        keys[key] = float(value) if hint is float else value
    make(cls, json.dumps(keys)).check()
    return json.dumps(keys)


_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a map",
    type(None): "null",
}


def _needed(value: Any, hint: Any) -> str | None:
    """What is needed where `value` is none of `hint`."""
    origin = get_origin(hint)
    if origin is Union or origin is types.UnionType:
        parts = [_needed(value, part) for part in get_args(hint)]
        return None if None in parts else " or ".join(str(part) for part in parts)
    if origin is Literal:
        choices = get_args(hint)
        return None if value in choices else "one of " + ", ".join(str(choice) for choice in choices)
    plain = origin or hint
    if plain not in _WORDS:
        return None
    accepted: dict[Any, tuple[type, ...]] = {float: (int, float), tuple: (list, tuple)}
    fits = isinstance(value, accepted.get(plain, (plain,)))
    if plain in (int, float) and isinstance(value, bool):
        fits = False
    return None if fits else _WORDS[plain]


def make(cls: type[Method], text: str) -> Method:
    """A method with the keys in the JSON `text`."""
    method = cls()
    for key, value in json.loads(text).items():
        setattr(method, key, value)
    return method


def _kept(method: Method) -> dict[str, Any]:
    """The attributes that checkpoints hold."""
    keys = keys_of(type(method))
    return {
        name: value
        for name, value in vars(method).items()
        if not name.startswith("_") and name not in keys
    }


def _numbers(value: Any) -> list[float] | None:
    """`value` as numbers, if it is a number or an array of such."""
    if isinstance(value, (bool, int, float)):
        return [float(value)]
    if hasattr(value, "dtype") and hasattr(value, "ravel"):
        if value.dtype.kind not in "biuf":
            return None
        return [float(number) for number in value.ravel().tolist()]
    return None


def stacks_of(method: Method) -> list[tuple[str, Stack]]:
    """The stacks among the attributes of `method`; refuses what is neither a stack nor made of numbers."""
    stacks = []
    for name, value in _kept(method).items():
        if isinstance(value, Stack):
            stacks.append((name, value))
        elif _numbers(value) is None:
            raise TypeError(
                f"`self.{name}` is of type {type(value).__name__}, which no checkpoint can hold: keep stacks, numbers and arrays "
                f"of numbers, or call it `self._{name}` and make it in `start`"
            )
    return stacks


def numbers_of(method: Method) -> list[tuple[str, list[float]]]:
    """The numbers and arrays among the attributes of `method`."""
    kept = ((name, _numbers(value)) for name, value in _kept(method).items())
    return [(name, numbers) for name, numbers in kept if numbers is not None]


def may_keep(method: Method, name: str, count: int) -> bool:
    """Whether `method` has an attribute `name` of `count` numbers."""
    numbers = _numbers(vars(method).get(name))
    return numbers is not None and len(numbers) == count


def restore_numbers(method: Method, name: str, numbers: list[float]) -> None:
    """Gives the attribute `name` of `method` the values `numbers`; it keeps its type and shape."""
    value = vars(method)[name]
    if hasattr(value, "dtype"):
        array = value.copy()
        array.ravel()[:] = numbers
        setattr(method, name, array)
    else:
        setattr(method, name, type(value)(numbers[0]))


def traceback(error: BaseException) -> str:
    """An exception with the lines of the method that it came from."""
    return "".join(_traceback.format_exception(error)).strip()


def classes() -> list[dict[str, Any]]:
    """All methods that have been defined."""
    return [
        {"name": name, "version": method.version, "class": method}
        for name, method in METHODS.items()
    ]
