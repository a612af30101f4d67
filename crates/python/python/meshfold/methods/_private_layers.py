"""Which layers clients keep to themselves, and which they share."""

from __future__ import annotations

from typing import NamedTuple

import meshfold as mf
from meshfold import _late
from meshfold.methods._same_overlay import name_of


def check(private: list[str] | str) -> None:
    """Refuses a key `private` that is neither a list nor `last`."""
    if isinstance(private, str) and private != "last":
        raise mf.KeyFault.value("private", "a list of names of layers, or `last`")


def expect_shared(method: object, private: list[str] | str, models: mf.Stack) -> None:
    """Refuses layers that `models` do not have, and warns if no layer is left to be shared; called in `start`."""
    if blocks(private, models).shared:
        return
    why = "the model has one layer, the last" if private == "last" else "all layers are private"
    _late.say(
        f"algorithm.own.private: {why}, so that clients of {name_of(method)} exchange nothing, as with the method alone: messages have 0 bytes. "
        "Take a model of more layers, or name fewer: `private: []` shares all"
    )


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


def planned_bytes(private: list[str] | str, about: mf.PlannedRound) -> int:
    """The bytes of the shared layers of models as a plan knows them."""
    kept = _named(private, list(about.layers))
    return 4 * sum(inputs * outputs for name, (inputs, outputs) in about.layers.items() if name not in kept)


def _named(private: list[str] | str, layers: list[str]) -> list[str]:
    if private == "last":
        last = layers[-1].rpartition(".")[0]
        return [name for name in layers if name.rpartition(".")[0] == last] if last else layers[-1:]
    unknown = [name for name in private if name not in layers]
    if unknown:
        raise mf.KeyFault.value("private", f"names of layers: there is no `{unknown[0]}`, there are `{'`, `'.join(layers)}`")
    return list(private)
