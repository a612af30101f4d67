"""Makes parts of functions again when a run is planned, if what their functions refer to has changed since they were made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from meshfold import _digests
from meshfold._meshfold import Part


class _Renewal(NamedTuple):
    #: Of the code when the part was made.
    digest: str
    #: Returns what the part is made of.
    tell: Callable[[], Sequence[Any]]
    again: Callable[[], Part]


#: The objects that parts hold, by the kinds, names and versions of the parts.
_HELD: WeakValueDictionary[tuple[str, str, str], Any] = WeakValueDictionary()


def renewable(part: Part, held: Any, tell: Callable[[], Sequence[Any]], again: Callable[[], Part]) -> Part:
    """`part`, which `renewed` makes `again` once the code of what `tell` returns is another. `held` lives as long as the part."""
    held.renewal = _Renewal(_digests.of_code(*tell()), tell, again)
    _HELD[part.kind, part.name, part.version] = held
    return part


def renewed(part: Part) -> Part:
    """`part`, or one that is made again."""
    held = _HELD.get((part.kind, part.name, part.version))
    if held is None or _digests.of_code(*held.renewal.tell()) == held.renewal.digest:
        return part
    made: Part = held.renewal.again()
    return made
