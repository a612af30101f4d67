"""What becomes of runs that Ctrl-C has ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from meshfold._run_info import RunInfo

#: The most runs that are told of, one a line.
MOST = 20


def tell_of(interruption: KeyboardInterrupt, runs: Iterable[RunInfo]) -> None:
    """Notes in `interruption`, where Python has notes, how each of the `runs` that it ended goes on."""
    if sys.version_info >= (3, 11):
        ended = [run for run in runs if run.ending == "interrupted"]
        for run in ended[:MOST]:
            interruption.add_note(f"{run.label}: interrupted; {_next(run)}")
        if len(ended) > MOST:
            interruption.add_note(f"and {len(ended) - MOST} more")


def _next(run: RunInfo) -> str:
    """What the same call does, in the words of the program."""
    round = _checkpoint(run.folder)
    if round is not None:
        return f"the same call resumes it after round {round}"
    if run.config.get("checkpoint") is not None:
        return "the same call starts it again, as there is no checkpoint yet"
    return "the same call starts it again, as `checkpoint` is not set"


def _checkpoint(folder: Path) -> int | None:
    """The round of the checkpoint in the folder of a run: a file of safetensors, which has it in the JSON of its tensor `state`."""
    try:
        with open(folder / "checkpoint.safetensors", "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            first, last = json.loads(file.read(length))["state"]["data_offsets"]
            file.seek(8 + length + first)
            return int(json.loads(file.read(last - first))["round"])
    except (OSError, ValueError, KeyError):
        return None
