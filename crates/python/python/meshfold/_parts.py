"""Weights, partitions and datasets that are made in Python, and the experiments that hold parts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meshfold import _arrays, _digests, _renewal, _tags
from meshfold._errors import ConfigError, MeshfoldWarning, warn_user
from meshfold._meshfold import Part
from meshfold._overlays import overlay
from meshfold._own import Method


def weights(matrix: Any, *, label: str | None = None) -> Part:
    """Mixing weights for `weights`: a matrix `W` `[N, N]` of NumPy or SciPy. Row `i` has the weights that node `i` gives to models.

    Rows must sum to one, to nine digits or, in single precision, to six; and nonzero weights off the diagonal must lie on edges of the overlay. `W` must be symmetric, unless the overlay is
    directed: `W[i, j]` is then the weight that `i` gives to the model of `j`, which sends to it. This is checked when the experiment is
    planned.

    Raises:
        ValueError: if the matrix is not square, or an entry is not finite; the message names its row.
        TypeError: if it is a function.
    """
    if callable(matrix) and not hasattr(matrix, "tocoo"):
        raise TypeError(
            "weights: found a function, needed a matrix [N, N], which holds in all rounds: an overlay brings other weights in each round by "
            "`mf.overlay(function, weights=True)`, whose function returns the mixing matrix of the round"
        )
    shape, rows, columns, values = _arrays.mixing(matrix, "weights")
    digest = _digests.of_arrays(rows, columns, values, np.array(shape))
    return Part.weights(label or f"weights-{digest[:6]}", digest, shape[0], (rows, columns, values))


#: The largest absolute value of features that are scaled as is usual.
_LARGEST = 50

#: Where users find what to do with real numbers and several labels of an example.
_OTHER_TARGETS = 'see docs/own.md, "Regression and several labels"'

Deal = Callable[[NDArray[np.int64], int, np.random.Generator], Sequence[ArrayLike]]


def partition(
    clients: Sequence[ArrayLike] | Deal,
    *,
    count: int | None = None,
    label: str | None = None,
    version: str | None = None,
) -> Part:
    """The training examples of each client, for `partition`.

    Args:
        clients: the indices of each client's examples, or a function of `(labels, classes, generator)` that returns them: labels
            `[M]`, int64, the number of classes, and a NumPy generator seeded by the run.
        count: how many clients the function makes, if that is known beforehand.
        label: what the partition is called in tables; `indices` with a digest if absent.
        version: distinguishes partitions with the same label, as part of the id of a run. If absent, it is a digest of the indices, or of
            the function's code and of all that this refers to, except libraries. Give one if the function depends on anything else.
    """
    version = _digests.version_of(version, "partition")
    if callable(clients):
        function, digest = clients, version or _digests.of_values(clients)

        is_asked_again = False

        def deal(labels: NDArray[np.int64], classes: int, seed: int) -> list[list[int]]:
            nonlocal is_asked_again
            lists = _lists(function(labels, classes, np.random.default_rng(seed)))
            if not is_asked_again:
                is_asked_again = True
                if _lists(function(labels, classes, np.random.default_rng(seed))) != lists:
                    raise ValueError(
                        "partition: the function dealt otherwise when it was called again for the same seed: draw from its generator alone, so "
                        "that a run can be repeated and go on from a checkpoint"
                    )
            if count is not None and len(lists) != count:
                raise ValueError(f"partition: the function made {len(lists)} clients, but count is {count}")
            return lists

        name = label or f"{getattr(clients, '__name__', 'partition')}-{digest[:6]}"
        part = Part.partition_by(name, digest, deal, count)
        if version is not None:
            return part
        return _renewal.renewable(part, deal, lambda: [function], lambda: partition(function, count=count, label=label))
    lists = _lists(clients)
    digest = version or _digests.of_arrays(*(np.array(indices, np.uint32) for indices in lists))
    return Part.partition(label or f"indices-{digest[:6]}", digest, lists)


def _lists(clients: Sequence[ArrayLike]) -> list[list[int]]:
    lists = []
    for client, indices in enumerate(clients):
        array = _arrays.plain(indices, f"partition: client {client}")
        if array.ndim != 1 or (array.size > 0 and array.dtype.kind not in "iu"):
            raise ValueError(
                f"partition: client {client}: found an array of shape {list(array.shape)} and type {array.dtype}, "
                "needed a list of whole numbers"
            )
        for found in (array.min(initial=0), array.max(initial=0)):
            if not 0 <= found < 2**32:
                raise ValueError(f"partition: client {client} is given example {found}")
        lists.append([int(index) for index in array])
    return lists


def dataset(
    x: ArrayLike,
    y: ArrayLike,
    x_test: ArrayLike,
    y_test: ArrayLike,
    *,
    owner: ArrayLike | None = None,
    owner_test: ArrayLike | None = None,
    validation: int = 0,
    classes: int | None = None,
    label: str | None = None,
) -> Part:
    """Examples in memory, for `dataset`.

    Args:
        x: features of the training examples: `[M, D]`, images `[M, H, W]` or `[M, C, H, W]`. Bytes are divided by 255, numbers are
            taken as they are. Numbers should have a usual scale, such as mean 0 and deviation 1.
        y: their labels, `[M]`: whole numbers from 0, or texts, which are numbered in their order and name the labels in results.
        x_test: features of the test examples, shaped as those of `x`.
        y_test: their labels.
        owner: the owner of each training example, `[M]`, whole numbers from 0 or texts; the partition `by_writer` makes one client per
            owner, in their order.
        owner_test: the owner of each test example; if absent, one further owner who has no training examples. Models are judged on the test
            examples of all owners. With `evaluate: {local_test: owners}` and the partition `by_writer`, each client's model is also judged on
            those of its own owners.
        validation: how many of the training examples, the last ones, are kept apart: nobody trains on them, and methods have them by
            `round.evaluate(models, on="validation")` and `round.examples(on="validation")`.
        classes: number of classes; one more than the largest label if absent.
        label: what the dataset is called in tables; `arrays` with a digest if absent.

    Raises:
        ValueError: if shapes do not fit, a feature is not finite (the message names its example), the labels cannot be meant as classes, or
            `validation` leaves nothing to train on.
    """
    train, shape, is_whole = _features(x, "x")
    test, test_shape, test_is_whole = _features(x_test, "x_test")
    if shape != test_shape or train.dtype != test.dtype:
        given, given_test = np.asarray(_arrays.plain(x, "dataset: x")), np.asarray(_arrays.plain(x_test, "dataset: x_test"))
        raise ValueError(
            f"dataset: x_test is of shape {list(given_test.shape)} and type {given_test.dtype}, but x is of shape {list(given.shape)} and "
            f"type {given.dtype}: needed examples of one shape, bytes (uint8) in both or numbers in both"
        )
    _tell_of_scale(train, test, (is_whole, test_is_whole))
    _tell_of_channels_last(shape)
    y, y_test, label_names = _tags.numbered(y, y_test, "y")
    names_test_owners = owner_test is not None
    owner, owner_test, owner_names = (owner, owner_test, []) if owner is None else _tags.numbered(owner, owner_test, "owner")
    labels, test_labels = _labels(y, len(train), "y"), _labels(y_test, len(test), "y_test")
    count = _classes(labels, test_labels, classes)
    kept = len(train) - _kept_apart(validation, len(train))
    _expect_trained(labels[:kept], test_labels, label_names)
    owners = _owners(owner, len(train), owner_test, len(test))
    # The features are flat, so that their shape does not tell the images' shape.
    form = np.array([*shape, count, *([validation] if validation else [])])
    named = [np.array(names) for names in (label_names, owner_names) if names]
    digest = _digests.of_arrays(train, labels, test, test_labels, *owners, form, *named)
    train_owners, test_owners = owners or (None, None)
    return Part.dataset(
        label or f"arrays-{digest[:6]}",
        digest,
        shape,
        count,
        (train, labels, train_owners),
        (test, test_labels, test_owners),
        label_names,
        owner_names,
        len(train) - kept,
        names_test_owners,
    )


def _kept_apart(validation: Any, examples: int) -> int:
    """`validation`, if it is a whole number that leaves some of the `examples` to train on."""
    if isinstance(validation, bool) or not isinstance(validation, (int, np.integer)):
        raise TypeError(
            f"dataset: validation is of type {type(validation).__name__}, needed a whole number: how many of the training examples, the last ones, are "
            "kept apart"
        )
    if not 0 <= validation < examples:
        raise ValueError(f"dataset: validation is {validation}, needed 0 to {examples - 1}, as there are {examples} training examples")
    return int(validation)


def _features(values: ArrayLike, name: str) -> tuple[NDArray[Any], tuple[int, int, int], bool]:
    """Features `[M, D]` as bytes or f32, channels, height and width of an example, and whether they are given as whole numbers."""
    array = _arrays.plain(values, f"dataset: {name}")
    shapes = {2: (1, 1, -1), 3: (1, -2, -1), 4: (-3, -2, -1)}
    if array.ndim not in shapes or array.shape[0] == 0:
        raise ValueError(f"dataset: {name} has the shape {array.shape}, needed [M, D], [M, H, W] or [M, C, H, W]")
    is_whole = array.dtype.kind in "iu"
    channels, height, width = (axis if axis == 1 else array.shape[axis] for axis in shapes[array.ndim])
    if array.dtype != np.uint8:
        if array.dtype.kind not in "biuf":
            raise ValueError(f"dataset: {name} is of type {array.dtype}, needed bytes or numbers")
        array = array.astype(np.float32)
        flat = array.reshape(len(array), -1)
        wrong = np.flatnonzero(~np.isfinite(flat).all(axis=1))
        if wrong.size > 0:
            raise ValueError(f"dataset: example {wrong[0]} of {name} has a feature that is not finite")
    return np.ascontiguousarray(array.reshape(len(array), -1)), (channels, height, width), is_whole


def _tell_of_scale(train: NDArray[Any], test: NDArray[Any], are_whole: tuple[bool, bool]) -> None:
    """Warns of numbers as features that are larger than those that models usually learn from."""
    if train.dtype == np.uint8:
        return
    least, most = (float(each) for each in (min(train.min(initial=0), test.min(initial=0)), max(train.max(initial=0), test.max(initial=0))))
    if max(-least, most) > (1 if any(are_whole) else _LARGEST):
        warn_user(
            f"dataset: the features of x and x_test are {'whole ' * all(are_whole)}numbers from {least:g} to {most:g}, and are taken as they are: models "
            "learn best from features of mean 0 and deviation 1. Scale them, or give pixels as bytes (uint8), which are divided by 255"
        )


def _tell_of_channels_last(shape: tuple[int, int, int]) -> None:
    """Warns of images that seem to have their channels last, as in other programs."""
    channels, height, width = shape
    if channels > 4 and height > 4 and width in (1, 3, 4):
        warn_user(
            f"dataset: x has images of {channels} channels of {height} x {width}; if these are {channels} x {height} pixels of {width} channels, "
            "give them as [images, channels, height, width], with numpy.moveaxis(x, -1, 1)"
        )


def _owners(
    train: ArrayLike | None, examples: int, test: ArrayLike | None, test_examples: int
) -> tuple[()] | tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The owners of training and test examples, if they are known."""
    if train is None:
        if test is not None:
            raise ValueError("dataset: owner_test is given, but not owner")
        return ()
    # One more than the largest stands for an owner without training examples.
    most = 2**32 - 2
    owners = _whole_numbers(train, examples, "owner", most).astype(np.uint32)
    if test is None:
        return owners, np.full(test_examples, owners.max() + 1, np.uint32)
    return owners, _whole_numbers(test, test_examples, "owner_test", most).astype(np.uint32)


def _labels(values: ArrayLike, examples: int, name: str) -> NDArray[np.uint16]:
    return np.ascontiguousarray(_whole_numbers(values, examples, name, 65534).astype(np.uint16))


def _classes(train: NDArray[np.uint16], test: NDArray[np.uint16], classes: int | None) -> int:
    """The number of classes, counted as for an `npz` file with these labels."""
    present = np.union1d(train, test)
    count, examples = int(present.max()) + 1, len(train) + len(test)
    if classes is not None and classes < count:
        raise ValueError(f"dataset: found label {count - 1}, needed one below {classes}")
    if classes is None and count > examples:
        raise ValueError(
            f"dataset: found label {count - 1}, which would make {count} classes of {examples} examples: number the labels from 0 "
            f"without gaps, or say `classes={count}` if there are as many"
        )
    count = classes or count
    if count < 2:
        raise ValueError("dataset: labels of one class alone, needed at least 2")
    absent = np.setdiff1d(np.arange(count), present)
    if absent.size > 0:
        first = ", ".join(map(str, absent[:5])) + (", .." if absent.size > 5 else "")
        warnings.warn(
            f"dataset: {absent.size} of the {count} classes have no example: {first}; labels count from 0, and `classes` says how many "
            "there are",
            stacklevel=3,
        )
    return count


def _expect_trained(train: NDArray[np.uint16], test: NDArray[np.uint16], names: Sequence[str]) -> None:
    """Warns of labels of test examples that no training example has."""
    unseen = np.setdiff1d(test, train).tolist()
    if unseen:
        called = [names[label] if names else str(label) for label in unseen[:5]]
        examples = int(np.isin(test, unseen).sum())
        warnings.warn(
            f"dataset: no training example has the label{'s' * (len(unseen) > 1)} {', '.join(called)}{', ..' * (len(unseen) > 5)}, which "
            f"{examples} of the {len(test)} test examples have: models cannot learn what they are",
            MeshfoldWarning,
            stacklevel=3,
        )


def _whole_numbers(values: ArrayLike, examples: int, name: str, most: int) -> NDArray[Any]:
    """`values` `[M]`, if they are whole numbers from 0 to `most`."""
    array = _arrays.plain(values, f"dataset: {name}")
    if array.shape != (examples,):
        several = "" if array.ndim < 2 or not name.startswith("y") else f": a label for each example; for several, {_OTHER_TARGETS}"
        raise ValueError(f"dataset: {name} has the shape {array.shape}, needed [{examples}]{several}")
    if array.dtype.kind not in "biu":
        learns = "" if array.dtype.kind != "f" or not name.startswith("y") else (
            ": labels are classes, counted from 0. A regression learns whole numbers alone, by the model "
            f"`{{linear: {{targets: value}}}}`: round the values, after scaling them; for others, {_OTHER_TARGETS}"
        )
        raise ValueError(f"dataset: {name} is of type {array.dtype}, needed whole numbers{learns}")
    for found in (array.min(), array.max()):
        if not 0 <= found <= most:
            raise ValueError(f"dataset: {name} holds {found}, needed whole numbers from 0 to {most}")
    return array


class Collector:
    """Replaces the parts of an experiment by their names, and collects the parts."""

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def plain(self, value: Any, path: str = "") -> Any:
        """`value`, found at `path`, in a form that YAML can hold; a networkx graph becomes an overlay."""
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        if isinstance(value, Mapping):
            _expect_keys(value, path)
            return {key: self.plain(inner, f"{path}.{key}" if path else str(key)) for key, inner in value.items()}
        if isinstance(value, (list, tuple, range)):
            return [self.plain(inner, f"{path}.{place}") for place, inner in enumerate(value)]
        if hasattr(value, "number_of_nodes") and hasattr(value, "edges"):
            value = overlay(value)
        if isinstance(value, Part):
            _expect_place(value, path)
            part = _renewal.renewed(value)
            self.parts.append(part)
            return {"own": {"name": part.name, "version": part.version}}
        _expect_part(value, path)
        if isinstance(value, (np.integer, np.floating, np.bool_)) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf"):
            return value.tolist()
        if isinstance(value, PathLike):
            return fspath(value)
        method = value if isinstance(value, type) else type(value)
        if issubclass(method, Method):
            found = f"found the method {method.__name__}, needed its name: {{'own': {{'name': '{method.name}', ...}}}}"
        elif hasattr(value, "named_parameters"):
            found = f"found the module {method.__name__}, needed `mf.torch_model(module)`"
        else:
            found = f"found {type(value).__name__}, needed text, a number, a list, a dict or a part, such as `mf.overlay(...)`"
        raise TypeError(f"the experiment holds what is no YAML: {path}: {found}")


def _expect_keys(value: Mapping[Any, Any], path: str) -> None:
    """Requires keys that YAML can hold."""
    for key in value:
        if not isinstance(key, (str, bool, int, float)):
            method = key if isinstance(key, type) else type(key)
            needed = f"'own': {{'name': '{method.name}', ...}}" if issubclass(method, Method) else "text"
            where = f"{path}: " if path else ""
            raise TypeError(f"the experiment holds what is no YAML: {where}found the key {key!r}, needed {needed}")


#: The keys that take a part of each kind.
_PLACES = {
    "overlay": "topology",
    "weights": "weights",
    "partition": "partition",
    "dataset": "dataset",
    "learning rate": "learning_rate",
    "model": "model",
}


def _expect_place(part: Part, path: str) -> None:
    """Requires that `path` takes a part of this kind; its innermost key that takes any part decides."""
    keys = [key for key in path.split(".") if key in _PLACES.values()]
    if keys and keys[-1] != _PLACES[part.kind]:
        message = f"{path}: found the {part.kind} `{part.name}`, which belongs to the key `{_PLACES[part.kind]}`"
        raise ConfigError(message, path=path)



#: The functions that make a part of arrays, by the keys that take it.
_OF_ARRAYS = {"topology": "mf.overlay", "weights": "mf.weights", "partition": "mf.partition", "dataset": "mf.dataset"}


def _expect_part(value: Any, path: str) -> None:
    """Refuses an array where a part belongs that is made of it, also in a list of a sweep."""
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    keys = [key for key in path.split(".") if not key.isdigit()]
    # A method may have a key of this name.
    is_of_method = "algorithm" in keys
    if keys and keys[-1] in _OF_ARRAYS and not is_of_method and (is_array or hasattr(value, "tocoo")):
        message = f"{path}: found an array of shape {list(value.shape)}, needed `{_OF_ARRAYS[keys[-1]]}(...)` around it"
        raise ConfigError(message, path=path)
