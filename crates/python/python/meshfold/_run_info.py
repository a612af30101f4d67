"""What call-backs learn about a run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
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
        resumed_from: the round of the checkpoint from which it continued, its own or that of a finished run of fewer rounds, or None if it
            started from the beginning.
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

    def stop(self) -> None:
        """Ends this run before its next round; the other runs go on, and `meshfold.run` returns them all.

        The run keeps its records, and a checkpoint if the experiment keeps any. Its `ending` is `interrupted`, and the same call
        continues it. If a call-back has a true attribute `awaited`, the run waits for the hooks, so that a hook `on_record` ends it right
        after the round of the record. Otherwise the run may have done some more rounds until it hears of this.

        Raises:
            RuntimeError: if the run belongs to no call of `meshfold.run`, as in a copy in another process.
        """
        stop = vars(self).get("_stop")
        if stop is None:
            raise RuntimeError(f"the run {self.label} is not carried out by a call of meshfold.run here")
        stop()

    def _but(self, **changes: Any) -> RunInfo:
        """The same run with other values of some attributes."""
        return replace(self, **changes)._stopped_by(vars(self).get("_stop"))

    def _stopped_by(self, stop: Any) -> RunInfo:
        """This run, which `stop()` ends. That is no field: it is neither shown nor compared."""
        vars(self)["_stop"] = stop
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Copies in other processes cannot end the run.
        return {name: value for name, value in vars(self).items() if name != "_stop"}

    def records(self) -> list[dict[str, Any]]:
        """The records that are completely written to the run's folder so far."""
        try:
            text = (self.folder / "metrics.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
