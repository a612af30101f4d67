"""The programs of the documentation run."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import meshfold as mf
import meshfold.methods
from meshfold import _own

from conftest import required
from own_models import is_there

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "own.md"


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def test_the_programs_of_the_page_on_own_parts_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = blocks_of(PAGE)
    assert len(blocks) == 17
    names: dict[str, object] = {}
    before = dict(_own.METHODS)
    try:
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)
        for framework, call in (("jax", "in_jax"), ("torch", "in_torch")):
            if is_there(framework):
                runs = names[call]()  # type: ignore[operator]
                assert all(run.is_finished for run in runs)
    finally:
        _own.METHODS.clear()
        _own.METHODS.update(before)
    told = capsys.readouterr().out
    assert "gamma=0.1" in told and "matchings" in told and "warm restarts" in told


def test_the_programs_of_the_page_on_call_backs_run(
    capsys: pytest.CaptureFixture[str], wandb: object
) -> None:
    for module in ("mlflow", "aim", "optuna"):
        required(module)
    page = DOCS / "callbacks.md"
    names: dict[str, object] = {}
    for block in blocks_of(page):
        exec(compile(block, str(page), "exec"), names)
    told = capsys.readouterr().out
    assert "topology=ring: finished, at best" in told and "learning_rate" in told
    assert len(list(Path("runs/tensorboard/study").iterdir())) == 2
    assert len(list(Path("wandb").glob("offline-run-*"))) == 2


def test_the_page_on_published_methods_runs_and_names_all(capsys: pytest.CaptureFixture[str]) -> None:
    page = DOCS / "published.md"
    block, flipped, asynchronous = blocks_of(page)
    exec(compile(block, str(page), "exec"), {})
    # The numbers differ from processor to processor in their last digits.
    told = re.sub(r"[\d.]+", "0", capsys.readouterr().out.split("\n\n")[0])
    assert told in re.sub(r"[\d.]+", "0", page.read_text())
    rows = re.findall(r"^\| `(\w+)` \|.*?\|(.*?)\|.*\|$", page.read_text().partition("## Attacks")[0], re.MULTILINE)
    groups = {
        "those of attacks": {"attack", "attackers", "strength"},
        "those of time": {"seconds_per_step", "sigma", "slowdown", "latency", "bandwidth", "window"},
    }
    named = {
        name: set(re.findall(r"`(\w+)`", keys)).union(*(group for words, group in groups.items() if words in keys)) for name, keys in rows
    }
    classes = [kind for name in mf.methods.__all__ if isinstance(kind := getattr(mf.methods, name), type) and issubclass(kind, mf.Method)]
    assert named == {kind.name: set(_own.keys_of(kind)) for kind in classes}
    exec(compile(flipped, str(page), "exec"), {})
    assert "| bridge | 1 | " in capsys.readouterr().out
    exec(compile(asynchronous, str(page), "exec"), {})
    accuracies = [float(number) for number in re.findall(r"([\d.]+)%", capsys.readouterr().out)]
    assert len(accuracies) == 6 and all(going_on > waiting for waiting, going_on in zip(accuracies[:3], accuracies[3:], strict=True))
    table = re.findall(r"^\| \d+ \| ([\d.]+) % \| ([\d.]+) % \|$", page.read_text(), re.MULTILINE)
    np.testing.assert_allclose(np.array(table, float).T.ravel(), accuracies, atol=1)


def test_the_page_on_published_methods_has_the_defaults_of_shared_keys() -> None:
    page = (DOCS / "published.md").read_text(encoding="utf-8")
    rows = re.findall(r"^ *\| `(\w+)` \| ([^|]*) \| [^|]* \|$", page, re.MULTILINE)
    found = {key: default.strip("`") for key, default in rows if key in {*_own.keys_of(mf.methods.Swift), *_own.keys_of(mf.methods.Beer)}}
    of_time = {key: getattr(mf.methods.AdPsgd, key) for key in _own.keys_of(mf.methods.AdPsgd)}
    expected = {key: "none" if default is None else str(default) for key, default in of_time.items()}
    expected |= {"compression": "top_k`; `qsgd` in `lead", "keep": "0.1", "bits": "4", "gamma": "by the method: below"}
    assert found == expected
    assert (mf.methods.Beer.compression, mf.methods.Lead.compression) == ("top_k", "qsgd")
    assert (mf.methods.Beer.keep, mf.methods.Lead.keep, mf.methods.SparseSharing.keep) == (0.1,) * 3
    assert (mf.methods.Beer.bits, mf.methods.Lead.bits, mf.methods.Lead.gamma) == (4, 4, 1.0)


def test_the_help_of_published_methods_has_all_their_keys() -> None:
    classes = [kind for name in mf.methods.__all__ if isinstance(kind := getattr(mf.methods, name), type) and issubclass(kind, mf.Method)]
    for kind in classes:
        told = set(re.findall(r"^ +(\w+)(?: = .*?)?:", inspect.getdoc(kind) or "", re.MULTILINE))
        assert set(_own.keys_of(kind)) <= told, kind.name
    assert "    seconds_per_step = 1.0: the simulated seconds" in (mf.methods.AdPsgd.__doc__ or "")
    assert "    compression = 'qsgd': " in (mf.methods.Lead.__doc__ or "")


def test_the_page_on_lost_messages_has_the_accuracy_of_its_method(capsys: pytest.CaptureFixture[str]) -> None:
    page = DOCS / "guide" / "lost-messages.md"
    text = page.read_text()
    (known,) = re.findall(r"^```yaml\n(# known.yaml\n.*?)^```$", text, re.MULTILINE | re.DOTALL)
    Path("known.yaml").write_text(known)
    (block,) = blocks_of(page)
    before = dict(_own.METHODS)
    try:
        exec(compile(block, str(page), "exec"), {})
    finally:
        _own.METHODS.clear()
        _own.METHODS.update(before)
    found = re.search(r"([\d.]+) ± [\d.]+ %", capsys.readouterr().out)
    shown = re.search(r"It reaches ([\d.]+) ±", text)
    assert found and shown
    # Numbers differ from processor to processor in their last digits.
    assert abs(float(found.group(1)) - float(shown.group(1))) < 0.5


def test_the_page_on_personal_models_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers differ from processor to processor in their last digits."""
    page = DOCS / "guide" / "personal-models.md"
    for block in blocks_of(page):
        exec(compile(block, str(page), "exec"), {})
    told = [line for line in capsys.readouterr().out.splitlines() if line.strip() and not line.startswith("±")]
    texts = re.findall(r"^```text\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    shown = [line for line in "".join(texts).splitlines() if line]
    blank = [[re.sub(r"[\d.]+", "0", line) for line in lines] for lines in (told, shown)]
    assert blank[0] == blank[1]

    def numbers(lines: list[str]) -> list[float]:
        return [float(row.group(1)) for line in lines if (row := re.search(r"\| ([\d.]+) ±", line))]

    np.testing.assert_allclose(numbers(told), numbers(shown), atol=2.5)
    assert len(numbers(shown)) == 18
