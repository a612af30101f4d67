"""What to write instead of an operation that stacks do not have: Python's own words do not say it."""

from __future__ import annotations

#: Of each error, words that it has, and what to write instead.
_INSTEAD = (
    ("'meshfold.Stack' does not support ufuncs", "arrays go back by `models.set(np.asarray(models) + array)`"),
    ("Concatenation operation is not implemented for NumPy arrays", "arrays go back to a stack by `models.set(np.asarray(models) + array)`"),
    ("'meshfold.Stack' object is not subscriptable", "row 3 is `np.asarray(models)[3]`, or `models.gather([3])` as a stack"),
    ("'meshfold.Stack' object does not support item assignment", "`models.scatter([3], stack)` overwrites rows, and `models.set(array)` all of them"),
    ("for @: 'meshfold.Mixing' and 'meshfold.Stack'", "`models.mix(round.mixing)` does that in place"),
    ("for @: 'numpy.ndarray' and 'meshfold.Stack'", "`models.mix(matrix)` does that in place"),
)


def add_to(error: TypeError) -> None:
    """Adds to the words of `error` what to write instead."""
    words = str(error)
    for said, instead in _INSTEAD:
        if said in words:
            error.args = (f"{words}: {instead}",)
            return
