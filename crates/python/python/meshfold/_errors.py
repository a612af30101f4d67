"""Errors and warnings."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meshfold._runs import Runs


class MeshfoldError(Exception):
    """Any error of this package."""


class ConfigError(MeshfoldError, ValueError):
    """The experiment has a mistake; no run was begun.

    Attributes:
        message: what is wrong.
        path: dotted path of the value at fault, such as `algorithm.dsgd.learning_rate`; empty for the experiment as a whole.
        file: the file that was read, `--set` for a value of `set`, or None if the mistake has no place.
        line: the line of the mistake, from 1, or None.
        column: the character in that line at which the mistake begins, from 1, or None.
        help: what would be right, or None.
        excerpt: the line with the mistake, as the program prints it.
        others: further mistakes in the experiment, each an error of its own.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str = "",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        help: str | None = None,
        excerpt: str = "",
        others: list[ConfigError] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.file = file
        self.line = line
        self.column = column
        self.help = help
        self.excerpt = excerpt
        self.others = others or []

    def __str__(self) -> str:
        excerpts = [self.excerpt or self.message, *(str(other) for other in self.others)]
        return "\n" + "\n\n".join(excerpts)


class DataError(MeshfoldError):
    """A dataset is missing or damaged."""


class DeviceError(MeshfoldError, ValueError):
    """There is no such device."""


class ResultsError(MeshfoldError):
    """Results cannot be read or written."""


class RunFailed(MeshfoldError):
    """At least one run failed; the others were carried out.

    Attributes:
        failures: the error of each failed run, by its label.
        runs: all runs, including the failed ones.
    """

    def __init__(self, failures: dict[str, str], runs: Runs) -> None:
        told = "\n".join(f"{label}: {error}" for label, error in failures.items())
        super().__init__(told)
        self.failures = failures
        self.runs = runs

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failures, self.runs)


class MeshfoldWarning(UserWarning):
    """An experiment or a choice of runs that may not be what you meant, results that may differ from those of a run on this machine, or
    a call-back that does not work."""


def warn_user(told: str) -> None:
    """Warns at the line of the user's that called Meshfold."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "meshfold":
        level, frame = level + 1, frame.f_back
    warnings.warn(told, MeshfoldWarning, stacklevel=level)
