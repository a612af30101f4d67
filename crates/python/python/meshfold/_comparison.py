"""Tables that compare the settings of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from meshfold._meshfold import Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: A value of a setting, as a configuration has it; None stands for runs that have no such setting.
Value = str | int | float | bool | None


class Comparison:
    """A table with a row for each setting, with the mean or the median over its runs. Libraries that read Arrow take it as it is.

    Printed, and in notebooks, it has means with 95 % intervals; accuracies are in per cent. `to_polars` and the others have plain
    numbers: `n`, `mean`, `sd`, and `low` and `high`, the ends of the interval, or `n`, `median`, `q1` and `q3`; accuracies are fractions.

    Attributes:
        notes: what a reader must know, such as which runs are missing or ended early.
    """

    def __init__(self, table: Table, markdown: str, latex: str, notes: list[str]) -> None:
        self.notes = notes
        self._table, self._markdown, self._latex = table, markdown, latex

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self._table.column_names

    def __len__(self) -> int:
        return len(self._table)

    def to_polars(self) -> polars.DataFrame:
        """The table as a polars data frame."""
        return self._table.to_polars()

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame; needs pyarrow."""
        return self._table.to_pandas()

    def to_pyarrow(self) -> pyarrow.Table:
        """The table as a pyarrow table."""
        return self._table.to_pyarrow()

    def to_markdown(self) -> str:
        """The table in Markdown, as people read it."""
        return self._markdown

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        """The table in LaTeX, for the package booktabs.

        Args:
            caption: the beginning of the caption, in LaTeX; the notes of the table follow.
            label: by which a text refers to the table: `\\ref{tab:accuracy}`.
        """
        head, caption_begins, rest = self._latex.partition("\\caption{")
        notes, table_begins, table = rest.partition("}\n\\begin{tabular}")
        whole = notes if caption is None else " ".join(part for part in (caption, notes) if part)
        labelled = "" if label is None else f"\n\\label{{{label}}}"
        return head + caption_begins + whole + "}" + labelled + table_begins[1:] + table

    def _repr_markdown_(self) -> str:
        return self._markdown

    def __repr__(self) -> str:
        return self._markdown.rstrip("\n")


def listed(given: str | Sequence[str], what: str) -> list[str]:
    """One name, or several.

    Raises:
        TypeError: if they are no names.
        ValueError: if one text has several, as on the command line.
    """
    if isinstance(given, str) and "," in given:
        parts = [name.strip() for name in given.split(",")]
        raise ValueError(f"{what}: found {given!r}, needed a list for several names: {parts}")
    found = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in found):
        raise TypeError(f"{what}: found {given!r}, needed a name, or a list of names")
    return found


def choices(only: Mapping[str, Value | Sequence[Value]] | None) -> list[tuple[str, list[str]]]:
    """The settings by which runs are chosen, each with the values that are taken, as tables show them."""
    return [
        (setting, [text(value) for value in (values if isinstance(values, (list, tuple, set)) else [values])])
        for setting, values in (only or {}).items()
    ]


def wording(names: Mapping[Value, str] | None) -> list[tuple[str, str]]:
    """The words for settings, values and figures.

    Raises:
        TypeError: if they are no words.
    """
    if names is None:
        return []
    if not isinstance(names, Mapping) or not all(isinstance(words, str) for words in names.values()):
        raise TypeError(f'names: found {names!r}, needed words by names, such as {{"dfedavg": "DFedAvg"}}')
    return [(text(name), words) for name, words in names.items()]


def one_of(given: Mapping[str, Any] | None, what: str, example: str) -> tuple[str, str] | None:
    """The only entry of `given`.

    Raises:
        TypeError: if there is not one.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping) or len(given) != 1:
        raise TypeError(f"{what}: found {given!r}, needed one entry, such as {example}")
    ((key, value),) = given.items()
    return key, text(value)


def text(value: Any) -> str:
    """A value as tables show it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
