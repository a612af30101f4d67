"""What call-backs learn about a run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunInfo:
    """A run that is carried out.

    Attributes:
        id: hash of its configuration.
        label: the settings that distinguish it in its sweep, such as `topology=ring, seed=2`.
        name: what the experiment is called.
        rounds: how many rounds it has.
        settings: the settings that the sweep varies, by their dotted paths.
        config: every setting of the run, as `config.yaml` has it.
        folder: where its files lie.
        resumed_from: the round of the checkpoint from which it continued, or None if it started from the beginning.
        ending: how it ended: `finished`, `skipped` (it was finished before), `interrupted`, `failed`, `damaged`, or `elsewhere`
            (another process carries it out); None until it ends.
        error: why it failed, if it did.
    """

    id: str
    label: str
    name: str
    rounds: int
    settings: dict[str, Any] = field(hash=False)
    config: dict[str, Any] = field(hash=False, repr=False)
    folder: Path
    resumed_from: int | None = None
    ending: str | None = None
    error: str | None = None

    def records(self) -> list[dict[str, Any]]:
        """The records that are completely written to the run's folder so far."""
        try:
            text = (self.folder / "metrics.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
