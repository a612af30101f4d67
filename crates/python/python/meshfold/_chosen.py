"""Chooses runs by their settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from meshfold._comparison import text
from meshfold._errors import warn_user


def chosen(configs: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[int]:
    """The places of the configurations that have these values of settings. Warns if there are none.

    Raises:
        ValueError: if none of them has a setting of such a name.
    """
    for name in settings:
        if configs and not any(_values(config, name) for config in configs):
            raise ValueError(f"only: no run has a setting `{name}`: give its dotted path, such as `algorithm.dsgd.learning_rate`, or the end of it")
    places = [place for place, config in enumerate(configs) if all(_has(config, name, wanted) for name, wanted in settings.items())]
    if configs and not places:
        warn_user(_nothing_left(configs, settings))
    return places


def _nothing_left(configs: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> str:
    """The first setting after which no configuration is left, and the values that it has in those before."""
    left = list(configs)
    before: list[str] = []
    for name, wanted in settings.items():
        found = [config for config in left if _has(config, name, wanted)]
        if not found:
            known = {_shown(value): None for config in left for value in _values(config, name)}
            among = f" in the runs with {' and '.join(before)}" if before else ""
            return f"only: no run is left: {name} is one of {', '.join(known) or 'nothing'}{among}"
        left = found
        before.append(f"{name}={wanted}")
    raise AssertionError("some configuration has all of the settings")


def _shown(value: Any) -> str:
    """A value as it may be asked for: of parts and methods with settings of their own, the name."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, about),) = value.items()
        return str(about.get("name") if kind == "own" and isinstance(about, Mapping) else kind)
    return text(value)


def _has(config: Mapping[str, Any], name: str, wanted: Any) -> bool:
    values = list(wanted) if isinstance(wanted, (list, tuple, set, range)) else [wanted]
    return any(_is(found, value) for found in _values(config, name) for value in values)


def _values(config: Mapping[str, Any], name: str) -> list[Any]:
    """The value at the path `name` or, where there is none, those at all paths that end so."""
    all_paths = list(_paths(config))
    whole = [value for path, value in all_paths if path == name]
    return whole or [value for path, value in all_paths if path.endswith(f".{name}")]


def _paths(config: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Each setting of a configuration by its dotted path, those with settings of their own before these."""
    if not isinstance(config, Mapping):
        return
    for key, value in config.items():
        path = f"{above}.{key}" if above else str(key)
        yield path, value
        yield from _paths(value, path)


def _is(found: Any, value: Any) -> bool:
    """Whether a setting has a value: the same, the same text, or the name of a part or a method that has settings of its own."""
    if isinstance(found, Mapping) and isinstance(value, str):
        ((kind, about), *others) = [*found.items()] or [("", None)]
        name = about.get("name") if kind == "own" and isinstance(about, Mapping) else kind
        return not others and name == value
    is_number = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (found, value))
    return bool(found == value) if is_number or isinstance(found, Mapping) else text(found) == text(value)
