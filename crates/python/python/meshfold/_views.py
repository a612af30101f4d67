"""Keeps arrays views of others in a run that is resumed: what is done to one of them shows in the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meshfold import _late
from meshfold._own import Method

#: The attributes of a method in which this module keeps which arrays were restored, and which views wait for theirs.
_RESTORED = "_meshfold_restored"
_WAITING = "_meshfold_waiting"
#: The attribute of a method that says that its user was told of arrays that cannot stay views.
_TOLD = "_meshfold_told_of_views"


def views_of(method: Method, attributes: Sequence[tuple[str, Any]]) -> dict[str, str]:
    """The forms of the arrays that are views of others among the attributes, by their names. Warns, once in a run, of views that are lost."""
    arrays = [(name, value) for name, value in attributes if isinstance(value, np.ndarray) and value.size > 0]
    views: dict[str, str] = {}
    wholes: list[tuple[str, NDArray[Any]]] = []
    # The larger ones first, so that each is a view of one that is none.
    for name, array in sorted(arrays, key=lambda each: np.subtract(*_bounds(each[1]))):
        of = next(((other_name, other) for other_name, other in wholes if other is not array and _is_within(array, other)), None)
        if of is None:
            wholes.append((name, array))
        else:
            offset = _begin(array) - _begin(of[1])
            shape, strides = (",".join(map(str, lengths)) for lengths in (array.shape, array.strides))
            views[name] = f"view {of[0]} {array.dtype.str} {offset} {shape or '-'} {strides or '-'}"
    _warn(method, arrays, views)
    return views


def _is_within(array: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether all of `array` lies in the memory of `other`, which is one piece."""
    (first, last), (begin, end) = _bounds(array), _bounds(other)
    return (other.flags.c_contiguous or other.flags.f_contiguous) and begin <= first and last <= end


def _bounds(array: NDArray[Any]) -> tuple[int, int]:
    """The addresses between which the numbers of an array lie."""
    reaches = [(length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)]
    begin = _begin(array)
    return begin + sum(reach for reach in reaches if reach < 0), begin + sum(reach for reach in reaches if reach > 0) + array.itemsize


def _begin(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _warn(method: Method, arrays: Sequence[tuple[str, NDArray[Any]]], views: dict[str, str]) -> None:
    if _TOLD in vars(method):
        return
    for place, (name, array) in enumerate(arrays):
        for other_name, other in arrays[:place]:
            if other is array or name in views or other_name in views or not np.may_share_memory(array, other):
                continue
            if np.shares_memory(array, other):
                vars(method)[_TOLD] = True
                return _late.say(
                    f"the method `{method.name}`: `self.{other_name}` and `self.{name}` share memory, and no checkpoint can keep that: in a run that "
                    "is resumed, what changes one of them does not change the other. Keep the whole array, as one that is contiguous, in an "
                    "attribute, and make views of it in `round`"
                )


def restore(method: Method, name: str, form: str) -> None:
    """Sets an attribute to a view of another one, as soon as that is restored."""
    waiting: list[tuple[str, str]] = vars(method).setdefault(_WAITING, [])
    waiting.append((name, form))
    _settle(method)


def restored(method: Method, name: str) -> None:
    """Takes note that an attribute has its value again."""
    vars(method).setdefault(_RESTORED, set()).add(name)
    _settle(method)


def _settle(method: Method) -> None:
    waiting: list[tuple[str, str]] = vars(method).get(_WAITING, [])
    for name, form in list(waiting):
        _, of, dtype, offset, shape, strides = form.split()
        if of in vars(method).get(_RESTORED, ()):
            waiting.remove((name, form))
            whole = getattr(method, of)
            lengths, steps = ([int(each) for each in text.split(",") if each != "-"] for text in (shape, strides))
            memory = whole if whole.flags.c_contiguous else whole.T
            setattr(method, name, np.ndarray(lengths, np.dtype(dtype), memory, int(offset), steps))
