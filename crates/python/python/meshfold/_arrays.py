"""Checks arrays that users pass in; error messages name the array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


def plain(value: Any, name: str) -> NDArray[Any]:
    """`value` as a NumPy array, without a copy if possible.

    Raises:
        ValueError: if it is not on the processor, is not an array, or has masked numbers.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        masked = int(np.ma.getmaskarray(value).sum())
        raise ValueError(f"{name} has {masked} masked numbers, needed an array without any: fill them or leave them out")
    device = _device(value)
    if device is not None:
        raise ValueError(f"{name} is on the device {device}, needed the processor: `.cpu()` in PyTorch, `jax.device_get` in JAX")
    if hasattr(value, "detach"):
        value = value.detach()
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is no array: found {type(value).__name__} ({error})") from None


def numbers(value: Any, name: str, shape: tuple[int | None, ...] | None = None) -> NDArray[np.float32]:
    """`value` as a row-major f32 array, without a copy if it is one already. None in `shape` stands for any length.

    Raises:
        ValueError: if its device, shape or type is wrong, or a number is not finite; the message has `name` and the index.
    """
    array = floats(value, name, shape)
    if not np.isfinite(array).all():
        place = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} is {array[place]} at {list(place)}, needed finite numbers")
    return array


def floats(value: Any, name: str, shape: tuple[int | None, ...] | None = None) -> NDArray[np.float32]:
    """As `numbers`, but the numbers may be infinite or NaN."""
    array = plain(value, name)
    if shape is not None and not _fits(array.shape, shape):
        needed = ", ".join("any" if length is None else str(length) for length in shape)
        if array.ndim == 0:
            raise ValueError(f"{name} is of type {type(value).__name__}, needed an array [{needed}]")
        raise ValueError(f"{name} is of shape {list(array.shape)}, needed [{needed}]")
    if array.dtype.kind not in "f":
        raise ValueError(f"{name} is of type {array.dtype}, needed floating-point numbers, best float32")
    return np.ascontiguousarray(array, dtype=np.float32).reshape(array.shape)


def rows(value: Any, name: str, shape: tuple[int, ...], last: list[int]) -> NDArray[np.float32]:
    """As `numbers`, for an array of `shape` and a last axis of any length in `last`; of another length, the first is asked for."""
    found = getattr(value, "shape", None)
    width = found[-1] if found and found[-1] in last else last[0]
    array = floats(value, name, (*shape, width))
    # A sum that is finite has finite terms only, and takes no memory. That of others may overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = np.isfinite(array.sum())
    return array if is_finite else numbers(array, name)


def row_pairs(value: Any, name: str, counts: tuple[int, int]) -> NDArray[np.uint32]:
    """`value` as a row-major array `[E, 2]` of two rows each, the first below `counts[0]`, the second below `counts[1]`.

    Raises:
        ValueError: if its shape or type is wrong, or a row does not exist; the message has `name` and the place.
    """
    array = _whole_pairs(value, name)
    wrong = np.argwhere((array < 0) | (array >= counts))
    if wrong.size > 0:
        place, side = wrong[0].tolist()
        raise ValueError(f"{name} has {array[place].tolist()} at {place}: row {array[place, side]} does not exist, needed 0 to {counts[side] - 1}")
    return np.ascontiguousarray(array, dtype=np.uint32)


def index_lists(value: Any, name: str, count: int) -> tuple[bool, list[NDArray[np.int64]]]:
    """Indices of `count` examples, and whether they are one list for all rows: `[B]`, `[R, B]`, or a list for each row; -1 for none.

    Raises:
        ValueError: if an example does not exist; the message has `name` and the place.
        TypeError: if they are no whole numbers.
    """
    is_ragged = isinstance(value, (list, tuple)) and any(hasattr(row, "__len__") for row in value)
    rows = value if is_ragged else plain(value, name)
    if is_ragged or rows.ndim == 2:
        return False, [_indices(row, f"{name} of row {place}", count) for place, row in enumerate(rows)]
    return True, [_indices(rows, name, count)]


def _indices(value: Any, name: str, count: int) -> NDArray[np.int64]:
    array = plain(value, name)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{name} is of shape {list(array.shape)} and type {array.dtype}, needed whole numbers [B], or [R, B]")
    wrong = np.flatnonzero((array < -1) | (array >= count)) if array.dtype.kind == "i" else np.flatnonzero(array >= count)
    if wrong.size > 0:
        raise ValueError(f"{name} has the example {array[wrong[0]]}, needed 0 to {count - 1}, or -1 for none")
    return np.ascontiguousarray(array, dtype=np.int64)


def one_or_each(value: Any, name: str, count: int) -> NDArray[np.float32]:
    """`value` as finite numbers `[count]`; a single one counts for all."""
    array = plain(value, name)
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    if array.ndim == 0:
        array = np.full(count, array)
    return numbers(array, name, (count,))


def pairs(value: Any, name: str, count: int) -> NDArray[np.uint32]:
    """`value` as a row-major array `[E, 2]` of numbers below `count`.

    Raises:
        ValueError: if its shape or type is wrong, or a number is out of range; the message has `name`.
    """
    array = _whole_pairs(value, name)
    if array.size == 0:
        return np.empty((0, 2), np.uint32)
    wrong = np.flatnonzero((array.min(axis=1) < 0) | (array.max(axis=1) >= count))
    if wrong.size > 0:
        first, second = array[wrong[0]].tolist()
        raise ValueError(f"{name}: {first}-{second} names a client that does not exist: there are 0 to {count - 1}")
    return np.ascontiguousarray(array, dtype=np.uint32)


def _whole_pairs(value: Any, name: str) -> NDArray[Any]:
    """`value` as an array `[E, 2]` of whole numbers."""
    array = plain(value, name)
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} is of shape {list(array.shape)} and type {array.dtype}, needed whole numbers [E, 2]")
    return array


class Entries(NamedTuple):
    """The entries of a matrix other than zero."""

    shape: tuple[int, int]
    rows: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    values: NDArray[np.float64]


def entries(matrix: Any, name: str, side: str) -> Entries:
    """The entries other than zero of a square matrix of NumPy or SciPy, `[side, side]`.

    Raises:
        ValueError: if it is not square, or an entry is not finite; the message has `name` and the place.
    """
    if hasattr(matrix, "tocoo"):
        found = matrix.tocoo()
        shape, rows, columns, values = found.shape, found.row, found.col, found.data
    else:
        array = plain(matrix, f"{name}: the matrix")
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{name}: the matrix is of type {array.dtype}, needed numbers")
        array = array.astype(np.float64)
        shape = array.shape
        if array.ndim != 2:
            raise ValueError(f"{name}: found an array of shape {shape}, needed [{side}, {side}]")
        rows, columns = np.nonzero(array)
        values = array[rows, columns]
    if shape[0] != shape[1]:
        raise ValueError(f"{name}: found {shape[0]} rows and {shape[1]} columns, needed [{side}, {side}]")
    values = np.ascontiguousarray(values, dtype=np.float64)
    rows, columns = (np.ascontiguousarray(index, dtype=np.uint32) for index in (rows, columns))
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size > 0:
        place = wrong[0]
        raise ValueError(f"{name}: row {rows[place]}, column {columns[place]} is {values[place]}, needed finite numbers")
    return Entries((int(shape[0]), int(shape[1])), rows, columns, values)


def mixing(matrix: Any, name: str) -> Entries:
    """As `entries`, of a mixing matrix. In single precision rows sum to one up to rounding: the weight of a node for itself makes up for it.

    Raises:
        ValueError: as `entries`.
    """
    found = entries(matrix, name, "N")
    if not str(getattr(matrix, "dtype", "")).endswith(("float32", "float16")):
        return found
    sums = np.bincount(found.rows, weights=found.values, minlength=found.shape[0])
    is_own = found.rows == found.columns
    missing = 1.0 - sums[found.rows]
    rounding = is_own & (np.abs(missing) < 1e-6)
    return found._replace(values=np.where(rounding, found.values + missing, found.values))


def _fits(found: tuple[int, ...], needed: tuple[int | None, ...]) -> bool:
    return len(found) == len(needed) and all(
        right is None or left == right for left, right in zip(found, needed, strict=True)
    )


def _device(value: Any) -> str | None:
    """The device of `value`, or None if it is in the memory of the processor."""
    if isinstance(value, (np.ndarray, np.generic, list, tuple, int, float)):
        return None
    device = getattr(value, "device", None)
    if device is None or callable(device):
        return None
    kind = getattr(device, "platform", None) or getattr(device, "type", None) or str(device)
    return None if kind == "cpu" else str(device)
