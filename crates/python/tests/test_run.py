"""Python carries out experiments with the same results as the program."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import meshfold as mf
import pytest
from conftest import Halt, halt_at

Experiment = dict[str, Any]


def records(folder: Path) -> list[dict[str, Any]]:
    """The records of a run without the time that it took."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    for record in found:
        del record["wall_seconds"]
    return found


def test_program_and_package_give_the_same_runs(experiment: Experiment, program: str) -> None:
    Path("small.yaml").write_text(json.dumps(experiment))
    by_package = mf.run("small.yaml", results="package")
    subprocess.run([program, "run", "small.yaml", "--results", "program", "-q"], check=True)
    by_program = mf.read("program/small")
    assert [run.id for run in by_package] == [run.id for run in by_program]
    for ours, theirs in zip(by_package, by_program):
        assert records(ours.folder) == records(theirs.folder)
        for name in ("clients.parquet", "config.yaml", "overlay.edges", "partition.csv"):
            ours_bytes = (ours.folder / name).read_bytes()
            assert ours_bytes == (theirs.folder / name).read_bytes(), name
    assert (Path("package") / "small" / "report.html").is_file()
    assert (Path("package") / "small" / "metrics.parquet").is_file()


def test_they_skip_what_the_other_has_finished(experiment: Experiment, program: str) -> None:
    Path("small.yaml").write_text(json.dumps(experiment))
    mf.run(experiment)
    told = subprocess.run(
        [program, "run", "small.yaml", "--json"], check=True, capture_output=True, text=True
    )
    endings = [json.loads(line)["ending"] for line in told.stdout.splitlines()]
    assert endings == ["skipped"] * 4
    seen: list[int] = []
    mf.run("small.yaml", on_record=lambda run, record: seen.append(record["round"]))
    assert seen == [], "finished runs have no new records"
    mf.run("small.yaml", again=True, on_record=lambda run, record: seen.append(record["round"]))
    assert len(seen) == 4 * 6


def test_every_record_is_told_of_with_its_run(experiment: Experiment) -> None:
    told: dict[str, list[dict[str, Any]]] = {}
    runs = mf.run(experiment, on_record=lambda run, record: told.setdefault(run.id, []).append(record))
    for run in runs:
        assert [record["round"] for record in told[run.id]] == list(range(6))
        assert [record["test_accuracy"] for record in told[run.id]] == [
            record["test_accuracy"] for record in records(run.folder)
        ]


def test_values_are_set_by_their_paths(experiment: Experiment) -> None:
    changes = {"rounds": 2, "algorithm.dsgd.learning_rate": 0.05, "sweep": None, "topology": {"regular": {"degree": 3}}}
    runs = mf.run(experiment, set=changes)
    (run,) = runs
    assert run.config["rounds"] == 2
    assert run.config["algorithm"]["dsgd"]["learning_rate"] == 0.05
    assert run.overlay is not None and run.overlay.edges.shape == (15, 2)


def test_paths_of_data_start_from_the_file(experiment: Experiment) -> None:
    folder = Path("elsewhere")
    folder.mkdir()
    rows = "\n".join(f"{index},{index % 7},{index % 2}" for index in range(200))
    (folder / "data.csv").write_text("a,b,label\n" + rows + "\n")
    experiment["dataset"] = {"csv": {"file": "data.csv", "label": "label"}}
    (folder / "own.yaml").write_text(json.dumps(experiment))
    assert len(mf.run(folder / "own.yaml")) == 4


def test_an_exception_of_a_call_back_ends_the_runs(experiment: Experiment) -> None:
    class Enough(Exception):
        pass

    def stop(run: mf.RunInfo, record: dict[str, Any]) -> None:
        if record["round"] == 2:
            raise Enough(run.label)

    experiment.update(rounds=100_000, checkpoint={"every": 10})
    with pytest.raises(Enough):
        mf.run(experiment, on_record=stop, at_once=1)
    assert not any(run.is_finished for run in mf.read("runs/small"))


def test_a_failed_run_keeps_no_other_from_its_end(experiment: Experiment) -> None:
    broken = mf.run(experiment, set={"rounds": 1})[0].id
    # A folder lies where the records of the first run belong.
    shutil.rmtree("runs")
    (Path("runs/small") / broken / "metrics.jsonl").mkdir(parents=True)
    with pytest.raises(mf.RunFailed) as caught:
        mf.run(experiment, set={"rounds": 1})
    assert list(caught.value.failures) == ["topology=ring, seed=1"]
    finished = [run.label for run in caught.value.runs if run.is_finished]
    assert len(finished) == 3


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_an_interruption_says_how_the_runs_go_on(experiment: Experiment) -> None:
    def press(run: mf.RunInfo, record: dict[str, Any]) -> None:
        if record["round"] == 3:
            raise KeyboardInterrupt

    experiment.update(sweep=None, rounds=50_000, evaluate={"every": 3})
    with pytest.raises(KeyboardInterrupt) as raised:
        mf.run(experiment, callbacks=[press])
    assert getattr(raised.value, "__notes__") == ["small: interrupted; the same call starts it again, as `checkpoint` is not set"]
    kept = {**experiment, "checkpoint": {"every": 100}, "sweep": {"grid": {"seed": [1, 2, 3]}}}
    with pytest.raises(KeyboardInterrupt) as raised:
        mf.run(kept, callbacks=[press], at_once=1)
    (note,) = getattr(raised.value, "__notes__")
    before, _, after = note.rpartition(" ")
    assert before == "seed=1: interrupted; the same call resumes it after round"
    # It is the round from which it goes on.
    started: list[int | None] = []

    class Starts(mf.callbacks.Callback):
        def on_start(self, run: mf.RunInfo) -> None:
            started.append(run.resumed_from)
            raise Halt

    with pytest.raises(Halt):
        mf.run(kept, callbacks=[Starts()], at_once=1)
    assert started == [int(after)]


LONG = """
import signal
import meshfold as mf
# Whoever began the tests in the background has them ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
experiment = {
    "name": "long", "dataset": {"glyphs": {"train": 600, "test": 100}}, "partition": {"shards": {"clients": 10}},
    "topology": "ring", "model": {"mlp": {"hidden": [20]}}, "evaluate": {"every": 500}, "checkpoint": {"every": 500},
    "algorithm": {"dsgd": {"batch_size": 20, "learning_rate": 0.1}}, "rounds": ROUNDS,
}
try:
    mf.run(experiment, cpu="portable", progress=False, on_record=lambda run, record: print(record["round"], flush=True))
except KeyboardInterrupt as interruption:
    print("interrupted", *getattr(interruption, "__notes__", ()), flush=True)
"""


def long_run(rounds: int) -> subprocess.Popen[str]:
    script = LONG.replace("ROUNDS", str(rounds))
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupted_run_goes_on_to_the_same_bits() -> None:
    interrupted = long_run(6000)
    assert interrupted.stdout is not None
    for line in interrupted.stdout:
        if line.strip() == "1000":
            interrupted.send_signal(signal.SIGINT)
            break
    rest = interrupted.stdout.read()
    assert interrupted.wait() == 0 and "interrupted" in rest and "6000" not in rest
    (half,) = mf.read("runs/long")
    assert not half.is_finished
    killed = long_run(6000)
    assert killed.stdout is not None
    first = killed.stdout.readline()
    assert int(first) > 1000, "it goes on from its checkpoint"
    if sys.version_info >= (3, 11):
        after = int(rest.rpartition("long: interrupted; the same call resumes it after round ")[2])
        assert int(first) - 500 <= after < int(first)
    killed.kill()
    killed.wait()
    rest = long_run(6000).communicate()[0]
    assert rest.split()[-1] == "6000"
    (resumed,) = mf.read("runs/long")
    by_parts = records(resumed.folder)
    Path("runs").rename("parts")
    long_run(6000).communicate()
    (whole,) = mf.read("runs/long")
    assert by_parts == records(whole.folder)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_the_script_of_a_job_saves_its_runs_when_it_is_told_to_end() -> None:
    page = (Path(__file__).parents[3] / "docs" / "cluster.md").read_text()
    methods, script = (block.split("```")[0] for block in page.split("```python\n")[1:])
    experiment = {
        "name": "job", "dataset": {"glyphs": {"train": 600, "test": 100}}, "partition": {"shards": {"clients": 10}},
        "topology": "ring", "model": "logistic", "rounds": 1_000_000, "evaluate": {"every": 10}, "checkpoint": {},
        "algorithm": {"own": {"name": "my_dsgd", "batch_size": 20, "learning_rate": 0.1}},
        "sweep": {"grid": {"seed": list(range(16))}},
    }
    Path("sweep.yaml").write_text(json.dumps(experiment))
    Path("my_methods.py").write_text(methods)
    Path("train.py").write_text(script)
    job = subprocess.Popen([sys.executable, "train.py"], env={**os.environ, "SLURM_ARRAY_TASK_ID": "15"})
    while not any(file.stat().st_size for file in Path("runs/job").glob("*/metrics.jsonl")):
        assert job.poll() is None
        time.sleep(0.01)
    job.terminate()
    assert job.wait(60) == 75
    (run,) = mf.read("runs/job")
    assert not run.is_finished and (run.folder / "checkpoint.safetensors").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_forked_process_runs_reads_and_compares(experiment: Experiment) -> None:
    mf.run(experiment, results="before", progress=False)
    child = multiprocessing.get_context("fork").Process(target=in_a_fork, args=(experiment,))
    child.start()
    child.join(60)
    child.kill()
    child.join()
    assert child.exitcode == 0
    assert len(mf.read("after/small").metrics()) == 24


def in_a_fork(experiment: Experiment) -> None:
    """What a process does that was forked from one that has used threads."""
    runs = mf.run(experiment, results="after", progress=False)
    assert len(runs.metrics()) == len(mf.read("before/small").metrics()) == 24
    runs.report("fork.html")


def test_two_threads_run_at_the_same_time(experiment: Experiment) -> None:
    results: dict[int, mf.Runs] = {}

    def work(seed: int) -> None:
        results[seed] = mf.run(experiment, set={"sweep": None, "seed": seed}, progress=False)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [1, 2]
    assert all(run.is_finished for runs in results.values() for run in runs)


def test_other_threads_go_on_meanwhile(experiment: Experiment) -> None:
    ticks = 0
    is_over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not is_over.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    mf.run(experiment, set={"rounds": 300, "model": {"mlp": {"hidden": [100]}}})
    took = time.monotonic() - began
    is_over.set()
    thread.join()
    assert ticks > 20 * took, f"{ticks} ticks in {took:.2f} s"


def test_the_interpreter_can_end_during_a_run() -> None:
    script = """
import threading, time
import meshfold as mf
experiment = {
    "name": "endless", "dataset": {"glyphs": {"train": 600, "test": 100}}, "partition": {"shards": {"clients": 10}},
    "topology": "ring", "model": "logistic", "algorithm": {"dsgd": {"batch_size": 20, "learning_rate": 0.1}},
    "rounds": 10_000_000, "evaluate": {"every": 1000},
}
began = threading.Event()
run = lambda: mf.run(experiment, progress=False, on_record=lambda *_: began.set())
threading.Thread(target=run, daemon=True).start()
began.wait()
print("over", flush=True)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "over\n", "")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the proc of Linux")
def test_memory_stays_flat_over_many_rounds(experiment: Experiment) -> None:
    held: list[int] = []

    def look(run: mf.RunInfo, record: dict[str, Any]) -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        held.append(pages * os.sysconf("SC_PAGE_SIZE"))

    mf.run(
        experiment,
        set={"rounds": 10_000, "sweep": None, "evaluate.every": 100},
        on_record=look,
        progress=False,
    )
    assert len(held) == 101
    grown = held[-1] - held[20]
    assert grown < 4_000_000, f"{grown} bytes more after 8,000 rounds"


def test_parts_of_a_sweep_are_all_of_it_and_the_same_as_the_programs(experiment: Experiment, program: str) -> None:
    parts = [mf.run(experiment, part=part, progress=False) for part in ("1/3", "2/3", "3/3")]
    ids = [run.id for runs in parts for run in runs]
    assert len(ids) == len(set(ids)) == 4
    whole = mf.read("runs/small")
    assert sorted(ids) == sorted(run.id for run in whole) and all(run.is_finished for run in whole)
    assert [run.id for run in whole] == [run.id for run in mf.run(experiment, progress=False)], "in the order of the sweep"
    Path("small.yaml").write_text(json.dumps(experiment))
    command = [program, "run", "small.yaml", "--part", "2/3", "--results", "theirs", "--json", "--quiet"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [run.id for run in parts[1]]


def test_runs_may_be_named_by_the_beginnings_of_their_ids(experiment: Experiment) -> None:
    some = mf.run(experiment, part="1/2", progress=False)
    first, second = (run.id for run in some)
    assert [run.id for run in mf.run(experiment, only=first[:8], progress=False)] == [first]
    assert [run.id for run in mf.run(experiment, only=[second, first], progress=False)] == [first, second]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"part": "3/2"}, "part: found `3/2`, needed a part such as 3/16"),
        ({"part": "half"}, "part: found `half`"),
        ({"only": "zz"}, "only: no run of this experiment has the id `zz`"),
        ({"only": ["a"], "part": "1/2"}, "found both, needed one"),
    ],
)
def test_parts_that_are_none_are_told(experiment: Experiment, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mf.run(experiment, progress=False, **arguments)
    assert not Path("runs").exists()


def test_a_part_without_runs_has_none(experiment: Experiment) -> None:
    assert len(mf.run(experiment, part="8/8", progress=False)) == 0


def test_warnings_of_the_library_are_heard(experiment: Experiment) -> None:
    kept = {**experiment, "sweep": None, "rounds": 6000, "evaluate": {"every": 600}, "checkpoint": {"every": 500}}
    with pytest.raises(Halt):
        mf.run(kept, on_record=halt_at(600), progress=False)
    (checkpoint,) = Path("runs/small").glob("*/checkpoint.safetensors")
    checkpoint.write_bytes(b"damaged")
    with pytest.warns(mf.MeshfoldWarning, match="checkpoint.safetensors is ignored"):
        mf.run(kept, progress=False)


def test_results_that_may_be_others_here_are_told(experiment: Experiment) -> None:
    (run,) = mf.run({**experiment, "sweep": None}, progress=False)
    done = run.folder / "DONE"
    seal = json.loads(done.read_text())
    done.write_text(json.dumps({**seal, "meshfold": "0.0.1"}))
    with pytest.warns(mf.MeshfoldWarning, match="finished before by meshfold 0.0.1 .* may differ in bits"):
        mf.run({**experiment, "sweep": None}, progress=False)


def test_a_single_run_brings_the_tables_of_its_sweep_up_to_date(experiment: Experiment) -> None:
    runs = mf.run(experiment, progress=False)
    table = runs[0].folder.parent / "metrics.parquet"
    table.write_bytes(b"")
    mf.run({**experiment, "sweep": None}, progress=False)
    assert table.stat().st_size > 0


def test_a_plan_has_the_facts_of_the_program(experiment: dict[str, Any], program: str, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(json.dumps(experiment))
    said = subprocess.run([program, "plan", str(file), "--json"], capture_output=True, text=True, check=True).stdout
    wanted = [json.loads(line) for line in said.splitlines()]
    table = mf.plan(experiment, set={"rounds": 5})
    rows = table.to_polars().to_dicts()
    assert [row["topology"] for row in rows] == ["ring", "ring", "complete", "complete"]
    assert [row["seed"] for row in rows] == [1, 2, 1, 2]
    assert all(row["rounds"] == 5 for row in rows)
    for row, facts in zip(rows, wanted, strict=True):
        for key in ("id", "label", "clients", "parameters", "memory_bytes", "local_steps_per_round", "bytes_per_round", "lambda"):
            assert row[key] == facts[key], key
    assert not Path("runs").exists(), "nothing was carried out"
    with pytest.raises(mf.ConfigError, match="topolgy"):
        mf.plan({**experiment, "topolgy": "ring"})
    with pytest.warns(mf.MeshfoldWarning):
        mf.plan({**experiment, "stragglers": {"share": 0.5}, "network": {"links": {"node_capacitated": {"upload": 1000}}}})
