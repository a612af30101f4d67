"""What to write instead of an operation that stacks do not have: Python's own words do not say it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

#: Of each error, words that it has, and what to write instead.
_INSTEAD = (
    ("'meshfold.Stack' does not support ufuncs", "`np.exp(np.asarray(models))` is an array, and `models.set(array)` brings one back"),
    ("Stack.mean() got an unexpected keyword", "`np.asarray(models).mean(axis=0)` is an array, and `models.mean()` a stack of one row, the mean of all"),
    ("abs(): 'meshfold.Stack'", "`abs(np.asarray(models))` is an array, and `models.set(array)` brings one back"),
    ("'meshfold.Stack' object has no attribute", "arrays have more functions: `np.asarray(models)`, and `models.set(array)` brings one back"),
    ("'meshfold.Mixing'", "`round.mixing.numpy()` is the matrix of the weights, and `models.mix(round.mixing)` mixes by them"),
    ("'meshfold.Stack' object does not support item assignment", "`models.scatter([3], stack)` overwrites rows, and `models.set(array)` all of them"),
)


@contextmanager
def told() -> Iterator[None]:
    """Within, the words of an error say what to write instead."""
    try:
        yield
    except (TypeError, AttributeError) as error:
        words = str(error)
        for said, instead in _INSTEAD:
            if said in words:
                error.args = (f"{words}: {instead}",)
                break
        raise
