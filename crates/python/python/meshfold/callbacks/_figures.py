"""Flattens the figures of records and the settings of runs to single values by name, as trackers need them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def figures(record: dict[str, Any], stroke: str = "/") -> dict[str, float]:
    """The numbers of a record except its round, by names such as `test_accuracy/mean`; figures that were not measured are left out."""
    found = dict(_parts(record, stroke))
    found.pop("round", None)
    return found


def figure(record: dict[str, Any], name: str, asked_by: str) -> float | None:
    """The figure of a record by its dotted path, of a spread that is named alone the mean; None if this record did not measure it.

    Raises:
        ValueError: if records have no such figure. A figure of a method's own may be in no record, as each round decides what it records.
    """
    found = figures(record, ".")
    is_known = name in found or f"{name}.mean" in found
    if not is_known and not name.startswith("own.") and record.get(name.split(".")[0], 0) is not None:
        raise ValueError(f"{asked_by}: there is no figure {name}, but {', '.join(sorted(found))}")
    return found.get(name, found.get(f"{name}.mean"))


def _parts(record: dict[str, Any], stroke: str) -> Iterator[tuple[str, float]]:
    for name, figure in record.items():
        if isinstance(figure, dict):
            for part, number in _parts(figure, stroke):
                yield f"{name}{stroke}{part}", number
        elif isinstance(figure, (int, float)):
            yield name, figure


def settings(config: dict[str, Any], sweep: dict[str, Any]) -> dict[str, Any]:
    """All settings of a run by their dotted paths. A setting that the sweep varies is one value, even if it is a dict."""
    leaves = dict(_leaves("", config))
    for path, value in varied(sweep).items():
        for leaf in [leaf for leaf in leaves if leaf == path or leaf.startswith(f"{path}.")]:
            del leaves[leaf]
        leaves[path] = value
    return {path: value for path, value in leaves.items() if value is not None}


def varied(sweep: dict[str, Any]) -> dict[str, Any]:
    """The settings that a sweep varies, each as a number, a truth value or text, so that runs can be compared."""
    return {path: _in_words(value) if isinstance(value, (dict, list)) else value for path, value in sweep.items()}


def _in_words(value: Any) -> str:
    """`regular degree=3` for `{"regular": {"degree": 3}}`; other values as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((name, fields),) = value.items()
        if isinstance(fields, dict):
            parts = [f"{key}={_in_words(part)}" for key, part in fields.items() if part is not None]
            return " ".join([name, *parts])
    return json.dumps(value)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _leaves(f"{path}.{key}" if path else key, below)
    else:
        yield path, value
