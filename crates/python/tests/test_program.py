"""The command `meshfold` of the package: the program, and no second one."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshfold as mf
import pytest
from test_own_methods import records

Experiment = dict[str, Any]

on_posix = pytest.mark.skipif(os.name == "nt", reason="signals and scripts of POSIX")


def installed() -> str | None:
    """The script that the installed package has; None if tests use a package that is not installed."""
    try:
        points = importlib.metadata.distribution("meshfold").entry_points
    except importlib.metadata.PackageNotFoundError:
        return None
    scripts = [point.name for point in points if point.group == "console_scripts"]
    return os.path.join(sysconfig.get_path("scripts"), *scripts) if scripts else None


@pytest.fixture(params=["script", "module"])
def command(request: pytest.FixtureRequest) -> list[str]:
    """What a user types for the program of the package."""
    if request.param == "module":
        return [sys.executable, "-m", "meshfold"]
    script = installed()
    if script is None:
        if os.environ.get("MESHFOLD_CI"):
            pytest.fail("the package has no script meshfold")
        pytest.skip("the package is not installed")
    return [script]


@pytest.fixture
def small(experiment: Experiment) -> Experiment:
    """The four short runs, also as a file."""
    Path("small.yaml").write_text(json.dumps(experiment))
    return experiment


#: Seconds of work.
LONG = """\
name: long
dataset: {glyphs: {train: 2000, test: 50}}
partition: {iid: {clients: 10}}
topology: ring
model: logistic
algorithm: {dfedavgm: {local: {steps: 20}, batch_size: 20, learning_rate: 0.01}}
rounds: 500
checkpoint: {every: 1000}
"""


def said(command: list[str], *arguments: str, **more: Any) -> tuple[int, str, str]:
    """The exit code, and what was said on standard output and standard error."""
    ended = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, **more)
    return ended.returncode, ended.stdout, ended.stderr


def test_its_runs_are_those_of_python(small: Experiment, command: list[str]) -> None:
    code, out, _ = said(command, "run", "small.yaml", "--results", "theirs", "--json", "--quiet")
    runs = mf.run(small, progress=False)
    assert code == 0 and [json.loads(line)["id"] for line in out.splitlines()] == [run.id for run in runs]
    for run in runs:
        theirs = Path("theirs/small") / run.id
        assert records(theirs) == records(run.folder)
        assert (theirs / "clients.parquet").read_bytes() == (run.folder / "clients.parquet").read_bytes()


def test_a_mistake_is_told_at_its_line(command: list[str]) -> None:
    Path("wrong.yaml").write_text(LONG.replace("topology: ring", "topology: rnig"))
    code, out, told = said(command, "run", "wrong.yaml")
    assert (code, out) == (2, "") and "wrong.yaml:4:" in told and "rnig" in told and "Traceback" not in told


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--version",
        "run --version",
        "--help",
        "submit --help",
        "completions bash",
        "rnu small.yaml",
        "run",
        "run small.yaml --threads many",
        "run nowhere.yaml",
        "plan small.yaml --json",
        "plan small.yaml",
        "data check nothing",
        "overlay --topology ring --nodes 12",
        "table nowhere --by seed",
        "run small.yaml --set algorithm=null",
    ],
)
def test_it_says_what_the_program_says(small: Experiment, command: list[str], program: str, line: str) -> None:
    theirs = said([program], *line.split())
    assert said(command, *line.split()) == theirs


def begun(command: list[str]) -> subprocess.Popen[str]:
    """A long run with ten records or more."""
    Path("long.yaml").write_text(LONG)
    # A shell that puts the tests in the background has them ignore Ctrl-C.
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([*command, "run", "long.yaml", "--no-report"], stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, heard)
    wait_for(lambda: any(len(file.read_text().splitlines()) >= 10 for file in Path("runs").glob("long/*/metrics.jsonl")))
    return process


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@on_posix
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_request_to_end_is_heard_after_the_round(command: list[str], sent: signal.Signals, code: int) -> None:
    process = begun(command)
    process.send_signal(sent)
    _, told = process.communicate(timeout=60)
    assert process.returncode == code and "stopping after this round" in told and "Traceback" not in told
    assert len(list(Path("runs/long").glob("*/checkpoint.safetensors"))) == 1
    code, _, told = said(command, "run", "long.yaml", "--no-report")
    assert code == 0 and "goes on after round" in told


@on_posix
def test_ctrl_c_ends_a_command_that_keeps_nothing(command: list[str]) -> None:
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([*command, "plan", "/dev/stdin"], text=True, **pipes)
    signal.signal(signal.SIGINT, heard)
    assert process.stdin is not None and process.stderr is not None
    # A pipe holds 64 KiB: once these are written, the program has begun to read.
    process.stdin.write("# more\n" * 30_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == -signal.SIGINT
    assert process.stderr.read() == ""


@on_posix
def test_a_reader_that_has_enough_is_no_failure(command: list[str]) -> None:
    process = subprocess.Popen([*command, "settings"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.read(1) == b"{"
    process.stdout.close()
    assert (process.wait(timeout=60), process.stderr.read()) == (0, b"")


def write_program(name: str, text: str) -> None:
    path = Path("bin") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@on_posix
def test_jobs_start_the_same_command(small: Experiment, command: list[str]) -> None:
    write_program("scontrol", "echo 'MaxArraySize            = 100'")
    write_program("sbatch", 'echo "$@" >> submitted; echo 7')
    write_program("squeue", "true")
    write_program("srun", 'while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"')
    environment = {**os.environ, "PATH": f"{Path('bin').absolute()}:{os.environ['PATH']}"}
    code, _, told = said(command, "submit", "small.yaml", "--jobs", "2", "--cpus", "1", env=environment)
    assert code == 0 and "4 of 4 runs to submit" in told, told
    (script,) = Path("runs/small/slurm").glob("*/array-1.sh")
    again = " ".join([os.path.normpath(command[0]), *command[1:], "run"])
    assert f" {again} " in script.read_text()
    for job in range(2):
        code, _, told = said(["bash", str(script)], env={**environment, "SLURM_ARRAY_TASK_ID": str(job)})
        assert code == 0, told
    (report,) = Path("runs/small/slurm").glob("*/report.sh")
    code, out, told = said(["bash", str(report)], env=environment)
    assert code == 0 and "4 finished" in out, (out, told)
    assert [run.id for run in mf.run(small, progress=False)] == [plan["id"] for plan in mf.plan(small).to_polars().to_dicts()]


METHODS = """
import meshfold as mf

class Quiet(mf.Method):
    keep: float = 0.5

    def round(self, models, round):
        round.train(models)
        round.send(models)
        models.mix(round.mixing)
"""


@pytest.fixture
def own(experiment: Experiment) -> Experiment:
    """The four short runs with a method of one's own, also as a file; the method is in `parts/mine.py`."""
    algorithm = {"own": {"name": "quiet", "keep": 0.25, "batch_size": 20, "learning_rate": 0.1}}
    own = {**experiment, "algorithm": algorithm}
    Path("own.yaml").write_text(json.dumps(own))
    Path("parts").mkdir()
    Path("parts/mine.py").write_text(METHODS)
    return own


@pytest.mark.parametrize("given", [["--import", "parts/mine.py"], ["--import=parts.mine"]])
def test_methods_are_imported(own: Experiment, command: list[str], given: list[str]) -> None:
    code, out, told = said([*command, *given], "run", "own.yaml", "--results", "theirs", "--json", "--quiet")
    assert code == 0, told
    script = "from parts.mine import mf; print(*[run.id for run in mf.run('own.yaml', progress=False)])"
    code, ids, told = said([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": f".:{os.environ.get('PYTHONPATH', '')}"})
    assert code == 0, told
    assert [json.loads(line)["id"] for line in out.splitlines()] == ids.split()
    for id in ids.split():
        assert records(Path("theirs/small") / id) == records(Path("runs/small") / id)


FILES = {
    "first/methods.py": METHODS.replace("keep: float", "kept: float").replace("self.keep", "self.kept * shares.SHARE").replace("import meshfold", "import shares, meshfold"),
    "first/shares.py": "SHARE = 1.0",
    "second/methods.py": METHODS.replace("Quiet", "Loud").replace("self.keep", "self.keep * shares.SHARE").replace("import meshfold", "import shares, meshfold"),
    "second/shares.py": "SHARE = 0.5",
    "second/json.py": METHODS.replace("Quiet", "Json").replace("import meshfold", "import json, statistics\njson.dumps, statistics.mean\nimport meshfold"),
    "second/statistics.py": METHODS.replace("Quiet", "Counted").replace("import meshfold", "import statistics\nstatistics.mean\nimport meshfold"),
}


def test_files_of_one_name_and_of_names_of_python_are_all_imported(experiment: Experiment) -> None:
    for name, text in FILES.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    files = [name for name in FILES if "shares" not in name]
    command = [sys.executable, "-m", "meshfold", *(word for file in (*files, files[0]) for word in ("--import", file))]

    def ids_of(command: list[str], name: str, **keys: Any) -> list[str]:
        algorithm = {"own": {"name": name, "batch_size": 20, "learning_rate": 0.1, **keys}}
        Path("own.yaml").write_text(json.dumps({**experiment, "algorithm": algorithm, "sweep": None}))
        code, out, told = said(command, "run", "own.yaml", "--json", "--quiet", "--no-report")
        assert code == 0, told
        assert "two methods" not in told
        return [json.loads(line)["id"] for line in out.splitlines()]

    loud = ids_of(command, "loud")
    assert len({*ids_of(command, "quiet", kept=0.5), *loud, *ids_of(command, "json"), *ids_of(command, "counted")}) == 4
    alone = [sys.executable, "-m", "meshfold", "--import", "second/methods.py"]
    assert ids_of(alone, "loud") == loud, "a version does not depend on what a module is called"


def test_published_methods_need_no_import(own: Experiment, command: list[str]) -> None:
    chosen = ["run", "own.yaml", "--set", "algorithm.own={name: choco_sgd, batch_size: 20, learning_rate: 0.1}"]
    code, out, told = said(command, *chosen, "--json", "--quiet")
    own["algorithm"] = {"own": {"name": "choco_sgd", "batch_size": 20, "learning_rate": 0.1}}
    assert code == 0, told
    assert [json.loads(line)["id"] for line in out.splitlines()] == [plan["id"] for plan in mf.plan(own).to_polars().to_dicts()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--import"], "--import needs a module of Python, or a file"),
        (["--import", "nothing_here", "plan", "own.yaml"], "--import nothing_here: there is no such module"),
        (["--import", "parts/other.py", "plan", "own.yaml"], "other.py: there is no such file"),
        (["plan", "own.yaml"], "this program has no method of its own named `quiet`"),
        (["--import", "parts/mine.py", "plan", "own.yaml", "--set", "algorithm.own.keep=much"], "needed a number"),
    ],
)
def test_methods_that_cannot_be_are_refused(own: Experiment, command: list[str], arguments: list[str], words: str) -> None:
    code, _, told = said(command, *arguments)
    assert code == 2 and words in " ".join(told.replace("│", "").split()) and "Traceback" not in told


def test_a_method_that_fails_says_where(own: Experiment, command: list[str]) -> None:
    Path("parts/mine.py").write_text(METHODS.replace("round.send(models)", "models.nothing()"))
    code, _, told = said([*command, "--import", "parts/mine.py"], "run", "own.yaml", "--set", "sweep=null", "--no-report")
    assert code == 1 and "in round 1" in told and "models.nothing()" in told


@on_posix
def test_ctrl_c_ends_methods_of_ones_own_after_their_round(own: Experiment, command: list[str]) -> None:
    Path("long.yaml").write_text(LONG.replace("{dfedavgm: {local: {steps: 20}, ", "{own: {name: quiet, local: {steps: 20}, "))
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([*command, "--import", "parts/mine.py", "run", "long.yaml", "--no-report"], stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, heard)
    wait_for(lambda: any(len(file.read_text().splitlines()) >= 10 for file in Path("runs").glob("long/*/metrics.jsonl")))
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130 and "stopping after this round" in told and "Traceback" not in told


def test_jobs_import_methods_again(own: Experiment, command: list[str]) -> None:
    code, out, told = said([*command, "--import", "parts/mine.py"], "submit", "own.yaml", "--dry-run")
    assert code == 0, told
    assert f"--import {Path('parts/mine.py').absolute()} run" in out


def test_it_starts_without_numpy(command: list[str]) -> None:
    code, _, told = said([sys.executable, "-X", "importtime", "-m", "meshfold"], "--version")
    imported = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    assert code == 0 and "meshfold._meshfold" in imported
    assert not imported & {"numpy", "tqdm", "json", "typing", "meshfold._public"}


def test_bugs_are_told_as_the_programs(small: Experiment) -> None:
    # The program makes its log once in a process. So a process that has used the package already meets what must not happen.
    script = """
import meshfold as mf
from meshfold._meshfold import program
mf.plan("small.yaml")
program(["devices"], [], [])
"""
    code, _, told = said([sys.executable, "-c", script])
    assert code == 101 and "met a bug" in told and "Traceback" not in told


def test_the_module_has_what_it_lists() -> None:
    script = """
import meshfold
assert {"run", "Method", "callbacks", "__version__"} <= set(dir(meshfold))
from meshfold import *
run, Method, callbacks.TensorBoard
assert sorted(meshfold.__all__) == sorted(name for name in globals() if name in meshfold.__all__)
try:
    meshfold.rnu
except AttributeError as error:
    print(error)
"""
    assert said([sys.executable, "-c", script]) == (0, "module 'meshfold' has no attribute 'rnu'\n", "")
