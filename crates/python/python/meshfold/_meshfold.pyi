"""The compiled part of meshfold."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

VERSION: str

class Table:
    """A table in memory, which everything that speaks Arrow's PyCapsule interface reads without a copy."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
    @property
    def descriptions(self) -> dict[str, str]:
        """What each column means, by its name."""
    def __len__(self) -> int: ...
    def to_polars(self) -> polars.DataFrame:
        """The table as a frame of polars."""
    def to_pandas(self) -> pandas.DataFrame:
        """The table as a frame of pandas; needs pyarrow."""
    def to_pyarrow(self) -> pyarrow.Table:
        """The table as one of pyarrow."""

class Recorded:
    def __init__(self, folders: Sequence[str | PathLike[str]]) -> None: ...
    @staticmethod
    def empty() -> Recorded: ...
    def __len__(self) -> int: ...
    @property
    def left_out(self) -> list[str]: ...
    def about(self, place: int) -> str: ...
    def metrics(self, places: Sequence[int]) -> Table: ...
    def clients(self, places: Sequence[int]) -> Table: ...
    def edges(self, place: int) -> bytes | None: ...
    def partition(self, place: int) -> str | None: ...
    def report(self, places: Sequence[int], path: str | PathLike[str]) -> None: ...

def run(
    request: Mapping[str, Any],
    planned: Callable[[list[dict[str, Any]], list[str]], None],
    listener: Callable[[int, str, Any], None],
) -> None: ...
