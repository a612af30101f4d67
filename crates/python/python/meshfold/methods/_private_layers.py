"""Which layers clients keep to themselves, and which they share."""

from __future__ import annotations

from typing import NamedTuple

import meshfold as mf


def check(private: list[str] | str) -> None:
    """Refuses a key `private` that is neither a list nor `last`."""
    if isinstance(private, str) and private != "last":
        raise mf.KeyFault.value("private", "a list of names of layers, or `last`")


class Blocks(NamedTuple):
    """The two blocks of a model.

    Attributes:
        private: the names of the layers that never leave a client.
        shared: those of the others.
        bytes: the bytes of the shared layers.
    """

    private: list[str]
    shared: list[str]
    bytes: int


def blocks(private: list[str] | str, models: mf.Stack) -> Blocks:
    """The blocks of `models`, where `private` is a list of layers, or `last`, the last one with its bias."""
    sizes = {name: layer[0].size for name, layer in models.by_layer().items()}
    kept = _named(private, list(sizes))
    shared = [name for name in sizes if name not in kept]
    return Blocks(kept, shared, 4 * sum(sizes[name] for name in shared))


def _named(private: list[str] | str, layers: list[str]) -> list[str]:
    if private == "last":
        last = layers[-1].rpartition(".")[0]
        return [name for name in layers if name.rpartition(".")[0] == last] if last else layers[-1:]
    unknown = [name for name in private if name not in layers]
    if unknown:
        raise ValueError(f"private: there is no layer `{unknown[0]}`: there are `{'`, `'.join(layers)}`")
    return list(private)
