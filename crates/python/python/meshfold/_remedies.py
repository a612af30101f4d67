"""What to write instead of an operation that stacks do not have: Python's own words do not say it."""

from __future__ import annotations

#: Of each error, words that it has, and what to write instead.
_INSTEAD = (
    ("'meshfold.Stack' does not support ufuncs", "arrays go back by `models.set(np.sin(np.asarray(models)))`"),
    ("'meshfold.Mixing'", "`round.mixing.numpy()` is the matrix of the weights, and `models.mix(round.mixing)` mixes by them"),
    ("'meshfold.Stack' object does not support item assignment", "`models.scatter([3], stack)` overwrites rows, and `models.set(array)` all of them"),
)


def add_to(error: TypeError) -> None:
    """Adds to the words of `error` what to write instead."""
    words = str(error)
    for said, instead in _INSTEAD:
        if said in words:
            error.args = (f"{words}: {instead}",)
            return
