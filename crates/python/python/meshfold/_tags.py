"""Labels and owners of examples that are texts, such as a column of pandas has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meshfold import _arrays


def numbered(train: ArrayLike, test: ArrayLike | None, name: str) -> tuple[Any, Any, list[str]]:
    """The numbers of texts and the text of each number; what are no texts stays as it is and has no names.

    Texts are numbered in their order, by value if all of them are numbers, as in files: training and test examples together.

    Raises:
        ValueError: if one entry is no text, or only one of the two has texts; the message has its place.
    """
    given = {name: train} if test is None else {name: train, f"{name}_test": test}
    arrays = {called: _arrays.plain(values, f"dataset: {called}") for called, values in given.items()}
    texts = {called: _texts(array, called) for called, array in arrays.items() if array.dtype.kind in "UOT"}
    if not texts:
        return train, test, []
    for called, array in arrays.items():
        if called not in texts:
            (other,) = texts
            raise ValueError(f"dataset: {other} has texts and {called} is of type {array.dtype}, needed texts in both or numbers in both")
    names = _sorted({text for array in texts.values() for text in array.ravel().tolist()})
    places = {text: place for place, text in enumerate(names)}
    numbers = [np.array([places[text] for text in array.ravel().tolist()], dtype=np.int64).reshape(array.shape) for array in texts.values()]
    return numbers[0], None if test is None else numbers[1], names


def _texts(array: NDArray[Any], name: str) -> NDArray[Any]:
    for place, value in enumerate(array.ravel().tolist()):
        if not isinstance(value, str) or not value:
            raise ValueError(f"dataset: {name} holds {value!r} at {place}, needed whole numbers, or a text for each example")
    return array


def _sorted(texts: set[str]) -> list[str]:
    try:
        return sorted(texts, key=lambda text: (float(text), text))
    except ValueError:
        return sorted(texts)
