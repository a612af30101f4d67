"""Runs in the kernel of a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import meshfold as mf
import pytest
from conftest import required

required("ipykernel")
manager = required("jupyter_client.manager")

Experiment = dict[str, Any]


class Kernel:
    """A kernel that code is sent to."""

    def __init__(self) -> None:
        self.manager, self.client = manager.start_new_kernel(kernel_name="python3")

    def run(self, code: str, interrupt_at: str | None = None) -> list[tuple[str, Any]]:
        """What the code brings forth; the kernel is interrupted once that text has been printed."""
        self.client.execute(code)
        told: list[tuple[str, Any]] = []
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return told
            told.append((kind, content.get("text") or content.get("ename") or content.get("data")))
            if interrupt_at is not None and kind == "stream" and interrupt_at in content["text"]:
                self.manager.interrupt_kernel()
                interrupt_at = None


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    started = Kernel()
    yield started
    started.manager.shutdown_kernel(now=True)


def test_a_notebook_shows_a_bar_and_the_report(experiment: Experiment, kernel: Kernel) -> None:
    told = kernel.run(f"import meshfold as mf\nruns = mf.run({experiment!r})")
    # A widget where ipywidgets are installed, else a line.
    assert any("4 of 4 runs" in str(about) or "widget" in str(about) for _, about in told)
    assert not any("TqdmWarning" in str(about) for _, about in told)
    ((_, shown),) = [(kind, about) for kind, about in kernel.run("runs") if kind == "execute_result"]
    assert shown["text/html"].startswith("<iframe srcdoc=")
    assert shown["text/plain"].startswith("4 runs")
    hidden = kernel.run(f"runs = mf.run({experiment!r}, again=True, progress=False)")
    assert not any("runs" in str(about) for kind, about in hidden if kind in ("stream", "display_data"))


def test_interrupting_a_kernel_ends_the_runs_with_a_checkpoint(experiment: Experiment, kernel: Kernel) -> None:
    experiment.update(rounds=10_000_000, evaluate={"every": 500}, checkpoint={"every": 1_000_000}, sweep=None)
    code = f"""
import meshfold as mf
mf.run({experiment!r}, progress=False, on_record=lambda run, record: print("round", record["round"], flush=True))
"""
    told = kernel.run(code, interrupt_at="round 500")
    assert ("error", "KeyboardInterrupt") in told
    (run,) = mf.read("runs/small")
    assert not run.is_finished and run.failure is None
    assert (run.folder / "checkpoint.safetensors").is_file()
    assert ("stream", "2\n") in kernel.run("print(1 + 1)"), "the kernel goes on"


def test_an_edited_cell_gives_its_method_another_version(kernel: Kernel) -> None:
    cell = """
import meshfold as mf
class Mine(mf.Method):
    def round(self, models, round):
        BODY
print(Mine.version)
"""
    told = [kernel.run(cell.replace("BODY", body)) for body in ("round.train(models)", "pass", "pass")]
    (first, second, third) = [text for lines in told for kind, text in lines if kind == "stream"]
    assert first != second == third and len(first) == len("0123456789ab\n")


def test_an_edited_cell_of_a_helper_gives_its_method_another_version(kernel: Kernel) -> None:
    kernel.run("import meshfold as mf\nclass Mine(mf.Method):\n    def round(self, models, round):\n        models *= scale()")
    helper = "def scale():\n    return NUMBER\nprint(Mine.version)"
    told = [kernel.run(helper.replace("NUMBER", number)) for number in ("0.5", "0.25", "0.5  # as before")]
    (first, second, third) = [text for lines in told for kind, text in lines if kind == "stream"]
    assert first == third != second
