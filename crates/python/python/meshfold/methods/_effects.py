"""Keys that do nothing beside the values of others."""

from __future__ import annotations

import meshfold as mf
from meshfold._own import GIVEN


def expect_effect(method: object, key: str, has_effect: bool, needed: str) -> None:
    """Refuses a `key` of `method` that was given, or is not its default, though it has no effect; `needed` says what would give it one.

    Null, which is no wish, is taken.

    Raises:
        KeyFault: naming the key.
    """
    value = getattr(method, key)
    is_wished = key in getattr(method, GIVEN, ()) or value != getattr(type(method), key)
    if not has_effect and is_wished and value is not None:
        raise mf.KeyFault.value(key, needed)


def is_given(method: object, key: str) -> bool:
    """Whether a configuration gives a `key` of `method`, or all of its keys."""
    given = getattr(method, GIVEN, ())
    return not given or key in given
