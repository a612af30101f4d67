"""A progress bar over all runs of a call."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from tqdm import TqdmWarning

with warnings.catch_warnings():
    # In notebooks without ipywidgets the bar is a line of text.
    warnings.simplefilter("ignore", TqdmWarning)
    from tqdm.auto import tqdm


class Progress:
    """Counts the rounds of all runs."""

    def __init__(self, rounds: Sequence[int], shown: bool | None) -> None:
        self._rounds = list(rounds)
        self._done = [0] * len(self._rounds)
        if shown is None and _is_notebook():
            shown = True
        # With `disable=None` tqdm hides the bar unless its output is a terminal.
        self._bar: Any = tqdm(
            total=sum(self._rounds),
            unit="round",
            disable=None if shown is None else not shown,
        )
        self._ended = 0
        self._tell()

    def rounds(self, run: int, done: int) -> None:
        """Run number `run` has now done `done` rounds."""
        self._bar.update(done - self._done[run])
        self._done[run] = done

    def ended(self, run: int, is_left: bool) -> None:
        """Run number `run` has ended. Unless something of it is left to do, the rounds that it has not done count as done."""
        if not is_left:
            self.rounds(run, self._rounds[run])
            self._ended += 1
        self._tell()

    def _tell(self) -> None:
        self._bar.set_description(f"{self._ended} of {len(self._rounds)} runs")

    def close(self) -> None:
        """Closes the bar as it stands."""
        self._bar.close()


def _is_notebook() -> bool:
    """Whether this is the kernel of a notebook, which shows output though it is not a terminal."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")
