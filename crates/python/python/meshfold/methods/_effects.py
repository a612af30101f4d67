"""Keys that do nothing beside the values of others."""

from __future__ import annotations

import meshfold as mf


def expect_effect(method: object, key: str, has_effect: bool, needed: str) -> None:
    """Refuses a `key` of `method` that is not its default though it has no effect; `needed` says what would give it one.

    Raises:
        KeyFault: naming the key.
    """
    if not has_effect and getattr(method, key) != getattr(type(method), key):
        raise mf.KeyFault.value(key, needed)
