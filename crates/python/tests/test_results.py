"""Other libraries read the tables of results."""

from __future__ import annotations

import copy
import inspect
import pickle
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import duckdb
import meshfold as mf
import numpy as np
import polars
import pyarrow
import pyarrow.parquet
import pytest
from conftest import required


@pytest.fixture
def runs(experiment: dict[str, Any]) -> mf.Runs:
    experiment["evaluate"] = {"clients": ["own"]}
    return mf.run(experiment)


def test_a_table_is_the_file_of_the_experiment(runs: mf.Runs) -> None:
    for name, table in (("metrics", runs.metrics()), ("clients", runs.clients())):
        written = pyarrow.parquet.read_table(f"runs/small/{name}.parquet")
        ours = pyarrow.table(table)
        assert ours.column_names == written.column_names == table.column_names
        assert ours.equals(written.cast(ours.schema))
        about = written.schema.metadata
        for column, description in table.descriptions.items():
            assert about[column.encode()].decode() == description
            assert description.endswith(".")


def test_libraries_read_tables(runs: mf.Runs) -> None:
    metrics = runs.metrics()
    assert len(metrics) == 24
    frame = metrics.to_polars()
    by_topology = frame.filter(polars.col("round") == 5).group_by("topology").len().sort("topology")
    assert by_topology.rows() == [("complete", 2), ("ring", 2)]
    assert polars.DataFrame(metrics).equals(frame)
    assert metrics.to_pandas().shape == frame.shape
    counted = duckdb.sql("select count(*), count(distinct run) from metrics")
    assert counted is not None and counted.fetchall() == [(24, 4)]


def test_tables_know_the_overlay(runs: mf.Runs) -> None:
    metrics, clients = runs.metrics().to_polars(), runs.clients().to_polars()
    for run in runs:
        overlay = run.overlay
        assert overlay is not None
        mine = metrics.filter(polars.col("run") == run.id)
        assert mine["lambda"].unique().to_list() == [overlay.lambda_]
        degree = {"ring": 2, "complete": 9}[mine["topology"][0]]
        assert mine["mean_degree"].unique().to_list() == [degree]
        assert clients.filter(polars.col("run") == run.id)["neighbours"].unique().to_list() == [degree]


def test_neighbours_are_those_of_each_client_or_server(experiment: dict[str, Any]) -> None:
    served = {"p_fedavg": {"batch_size": 20, "learning_rate": 0.1, "servers": {"count": 3}}}
    cases = [{"topology": "star"}, {"topology": "path", "algorithm": served}, {"topology": None, "algorithm": {"alone": {"batch_size": 20, "learning_rate": 0.1}}}]
    runs = mf.run({**experiment, "topology": "ring", "sweep": {"cases": cases}}, progress=False)
    of = [run.clients().to_polars().filter(polars.col("round") == 5).sort("row")["neighbours"].to_list() for run in runs]
    assert of == [[9] + [1] * 9, [1, 2, 1], [None] * 10]


def test_what_cannot_be_pickled_says_what_can(runs: mf.Runs) -> None:
    for thing, why in ((runs.metrics(), r"`table\.to_polars\(\)`"), (runs.figure("topology"), r"`figure\.svg\(\)` is its text")):
        with pytest.raises(TypeError, match=why):
            pickle.dumps(thing)


def test_a_choice_is_named_with_all_its_settings(experiment: dict[str, Any]) -> None:
    topologies = ["ring", {"regular": {"degree": 3}}, {"regular": {"degree": 5}}]
    runs = mf.run({**experiment, "rounds": 1, "sweep": {"grid": {"topology": topologies, "seed": [1, 2]}}}, progress=False)
    with pytest.raises(ValueError, match=r"or name `topology\.\*` in place of `topology`"):
        runs.table("topology")
    labels = ["ring", "regular degree=3", "regular degree=5"]
    assert runs.table("topology.*").to_polars()["topology"].to_list() == labels
    drawn = runs.figure("topology.*").svg()
    assert all(label in drawn for label in labels) and "topology.*" not in drawn
    with pytest.raises(TypeError, match=r"y is \['test_loss', 'test_accuracy'\], needed one name"):
        runs.figure("topology.*", y=["test_loss", "test_accuracy"])  # type: ignore[arg-type]
    named = runs.figure("topology.*", bars=True, names={"regular degree=3": "Expander"}).svg()
    assert "Expander" in named and "regular degree=3" not in named


def test_counts_are_whole_numbers_so_that_tables_join(runs: mf.Runs) -> None:
    metrics, clients = runs.metrics().to_polars(), runs.clients().to_polars()
    for count in ("round", "local_steps", "bytes_total", "messages_total", "alive"):
        assert metrics.schema[count] == polars.Int64, count
    assert metrics.schema["test_accuracy"] == metrics.schema["wall_seconds"] == polars.Float64
    joined = clients.join(metrics.select("run", "round", "bytes_total"), on=["run", "round"])
    assert len(joined) == len(clients) and joined["bytes_total"].null_count() == 0


def test_a_table_is_read_without_a_copy(runs: mf.Runs) -> None:
    table = runs.metrics()
    first, second = pyarrow.table(table), pyarrow.table(table)
    column = "test_accuracy"
    address = [chunk.buffers()[1].address for chunk in first[column].chunks]
    assert address == [chunk.buffers()[1].address for chunk in second[column].chunks]
    del table, second
    assert first[column].null_count == 0, "the table outlives what it came from"


def test_runs_are_a_sequence(runs: mf.Runs) -> None:
    assert len(runs) == 4 and len(list(runs)) == 4
    assert runs[-1].id == runs[3].id
    some = runs[1:3]
    assert [run.id for run in some] == [runs[1].id, runs[2].id]
    assert set(some.metrics().to_polars()["run"]) == {run.id for run in some}
    with pytest.raises(IndexError):
        runs[4]
    assert repr(runs).startswith("4 runs\n")
    assert "finished, accuracy" in repr(runs)


def test_a_run_tells_what_it_was(runs: mf.Runs) -> None:
    run = runs[0]
    assert (run.name, run.label, run.is_finished, run.failure) == ("small", "topology=ring, seed=1", True, None)
    assert run.settings["seed"] == 1
    assert run.config["rounds"] == 5
    assert run.summary is not None and run.summary["last"]["round"] == 5
    assert run.folder == Path("runs/small").absolute() / run.id
    assert len(run.metrics()) == 6 and len(run.clients()) == 60
    overlay, partition = run.overlay, run.partition
    assert overlay is not None and partition is not None
    assert overlay.nodes == 10 and not overlay.directed
    ring = {(node, (node + 1) % 10) for node in range(10)}
    assert {tuple(sorted(edge)) for edge in overlay.edges.tolist()} == {tuple(sorted(edge)) for edge in ring}
    assert overlay.lambda_ == pytest.approx((1 + 2 * np.cos(2 * np.pi / 10)) / 3)
    assert partition.labels is not None and partition.labels.shape == (10, 10)
    assert partition.examples.tolist() == [60] * 10
    assert partition.labels.sum() == 600


def test_a_method_without_an_overlay_has_none(experiment: dict[str, Any]) -> None:
    del experiment["topology"], experiment["sweep"]
    experiment["algorithm"] = {"alone": {"batch_size": 20, "learning_rate": 0.1}}
    (run,) = mf.run(experiment)
    assert run.overlay is None


def test_the_report_is_one_page(runs: mf.Runs) -> None:
    page = runs[:2].report("two.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert runs[0].id in page and runs[3].id not in page
    notebook = runs._repr_html_()
    assert notebook.startswith("<iframe srcdoc=") and "<script" not in notebook


def test_no_runs_have_a_report_that_says_so(runs: mf.Runs) -> None:
    for none in (runs[99:], pickle.loads(pickle.dumps(runs[99:]))):
        assert len(none) == 0 and len(none.metrics()) == 0
        assert "0 runs." in none.report("none.html").read_text()
        assert none._repr_html_().startswith("<iframe")


def test_results_are_found_from_another_folder_and_missed_when_they_are_gone(
    runs: mf.Runs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read, counted = mf.read("runs/small"), len(runs.metrics())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(runs.metrics()) == len(read.metrics()) == counted
    run = runs[0]
    assert run.overlay is not None
    shutil.rmtree(run.folder)
    for look in (runs.metrics, runs.clients, run.metrics, lambda: run.overlay, lambda: run.partition, lambda: runs[0], runs.report):
        with pytest.raises(mf.ResultsError, match=f"{run.folder.name} is gone"):
            look()
    assert len(runs[1:].metrics()) == counted * 3 // 4


def test_results_go_between_processes(runs: mf.Runs) -> None:
    some = runs[2:0:-1]
    for again in (pickle.loads(pickle.dumps(some)), copy.deepcopy(some)):
        assert [run.id for run in again] == [runs[2].id, runs[1].id]
        assert len(again.metrics()) == len(some.metrics())
    run = pickle.loads(pickle.dumps(runs[3]))
    assert (run.id, run.label) == (runs[3].id, runs[3].label)
    error = pickle.loads(pickle.dumps(mf.RunFailed({"seed=1": "no more"}, some)))
    assert (str(error), len(error.runs)) == ("seed=1: no more", 2)
    fault = pickle.loads(pickle.dumps(mf.KeyFault.value("gamma", "a number above 0")))
    assert (str(fault), fault.kind, fault.needed) == ("gamma: a number above 0", "value", "a number above 0")


def test_damaged_runs_are_left_out(runs: mf.Runs) -> None:
    records = runs[0].folder / "metrics.jsonl"
    records.write_text(records.read_text()[:100])
    with pytest.warns(mf.MeshfoldWarning, match=f"{runs[0].id}.*left out"):
        read = mf.read("runs/small")
    assert len(read) == 3
    assert len(read.left_out) == 1 and runs[0].id in read.left_out[0]


def test_one_run_can_be_read_alone(runs: mf.Runs) -> None:
    (run,) = mf.read(runs[2].folder)
    assert run.label == runs[2].label
    (first, second) = mf.read(runs[2].folder, runs[0].folder)
    assert [first.id, second.id] == [runs[2].id, runs[0].id]


def test_names_of_labels_and_owners_are_read() -> None:
    lines = ["weight,kind,garden"]
    kinds, gardens = ["wren", "robin", "tit"], ["North", "East"]
    lines += [f"{place % 7}.5,{kinds[place % 3]},{gardens[place % 2]}" for place in range(40)]
    Path("birds.csv").write_text("\n".join(lines) + "\n")
    Path("birds.yaml").write_text(
        "name: birds\ndataset: {csv: {file: birds.csv, label: kind, client: garden, header: true, test: {share: 0.2}}}\n"
        "partition: by_writer\ntopology: ring\nmodel: logistic\n"
        "algorithm: {dsgd: {batch_size: 2, learning_rate: 0.1}}\nrounds: 2\n"
    )
    (run,) = mf.run("birds.yaml", progress=False)
    assert run.partition is not None
    assert run.partition.label_names == ["robin", "tit", "wren"]
    assert run.partition.owners == ["East", "North"]


@pytest.mark.parametrize(("method", "package"), [("to_polars", "polars"), ("to_pandas", "pyarrow"), ("to_pyarrow", "pyarrow")])
def test_a_package_for_tables_that_is_missing_is_named(
    experiment: dict[str, Any], monkeypatch: pytest.MonkeyPatch, method: str, package: str
) -> None:
    table = mf.run(experiment, set={"sweep": None}, progress=False).metrics()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=f"Table.{method} needs the package {package}: pip install {package}"):
        getattr(table, method)()


def test_a_run_shows_its_overlay_and_partition_in_a_line(experiment: dict[str, Any]) -> None:
    (run,) = mf.run(experiment, set={"sweep": None}, progress=False)
    assert repr(run.overlay) == "<Overlay of 10 nodes and 10 edges, λ = 0.8727>"
    assert repr(run.partition) == "<Partition of 600 examples among 10 clients, 60 to 60 each>"


def test_the_example_in_the_help_of_run_runs() -> None:
    text = inspect.getdoc(mf.run) or ""
    example = textwrap.dedent(text[text.index("    import meshfold") : text.index("Runs that Python")])
    names: dict[str, Any] = {}
    exec(example, names)
    assert len(names["runs"]) == 4


def test_an_overlay_that_goes_one_way_says_so(experiment: dict[str, Any]) -> None:
    method = {"push_sum": {"local": {"steps": 1}, "batch_size": 20, "learning_rate": 0.1}}
    directed = {**experiment, "sweep": None, "topology": "one_peer", "algorithm": method, "partition": {"shards": {"clients": 8}}}
    (run,) = mf.run(directed, progress=False)
    overlay = run.overlay
    assert overlay is not None and run.summary is not None
    assert overlay.directed and overlay.lambda_ == run.summary["lambda"] == 0
    assert run.summary["lambda_of_period"] < 1e-7
    assert len(overlay.edges) == 8


def test_trained_models_predict_as_the_run_recorded(experiment: dict[str, Any]) -> None:
    generator = np.random.default_rng(3)
    y = np.arange(300) % 4
    x = np.eye(4, 6)[y] + 0.6 * generator.standard_normal((300, 6))
    experiment |= {"dataset": mf.dataset(x[:200], y[:200], x[200:], y[200:], label="clouds"), "sweep": None}
    (without,) = mf.run(experiment)
    with pytest.raises(mf.ResultsError, match=r"checkpoint\.keep=true"):
        without.models()
    (run,) = mf.run(experiment, set={"checkpoint": {"keep": True}}, again=True)
    assert run.id == without.id
    models = run.models()
    assert models.shape == (10, 6 * 4 + 4)
    layers = models.by_layer()
    assert {name: layer.shape for name, layer in layers.items()} == {"dense0.weight": (10, 6, 4), "dense0.bias": (10, 1, 4)}
    guessed = (x[200:].astype(np.float32) @ layers["dense0.weight"] + layers["dense0.bias"]).argmax(axis=2)
    last = run.clients().to_polars().filter(polars.col("round") == 5).sort("row")
    assert (guessed == y[200:]).mean(axis=1).tolist() == pytest.approx(last["accuracy"].to_list())
    assert np.allclose(models.mean().numpy(), models.numpy().mean(axis=0), atol=1e-6)


def test_trained_models_are_networks_of_pytorch(experiment: dict[str, Any]) -> None:
    torch = required("torch")
    nn = torch.nn
    generator = np.random.default_rng(5)
    y = np.arange(240) % 3
    x = generator.standard_normal((240, 2, 17, 19)).astype(np.float32) + 0.3 * y[:, None, None, None].astype(np.float32)
    experiment |= {
        "dataset": mf.dataset(x[:160], y[:160], x[160:], y[160:], label="images"),
        "partition": {"iid": {"clients": 4}},
        "model": "gn_lenet",
        "rounds": 2,
        "checkpoint": {"keep": True},
        "sweep": None,
    }
    (run,) = mf.run(experiment)
    layers = {name: torch.tensor(layer) for name, layer in run.models().by_layer().items()}
    accuracies = []
    for row in range(4):
        parameters = iter([layer[row] for layer in layers.values()])

        def convolution(inputs: int, outputs: int, parameters: Any = parameters) -> Any:
            layer = nn.Conv2d(inputs, outputs, 5, padding=2)
            layer.weight.data = next(parameters).reshape(5, 5, inputs, outputs).permute(3, 2, 0, 1)
            layer.bias.data = next(parameters)[0]
            return layer

        def norm(channels: int, parameters: Any = parameters) -> Any:
            layer = nn.GroupNorm(2, channels)
            layer.weight.data, layer.bias.data = next(parameters)[0], next(parameters)[0]
            return layer

        def pool() -> Any:
            return nn.MaxPool2d(3, 2)

        layers_of_row = [convolution(2, 32), pool(), norm(32), nn.ReLU()]
        layers_of_row += [convolution(32, 32), norm(32), pool(), nn.ReLU()]
        layers_of_row += [convolution(32, 64), norm(64), pool(), nn.ReLU()]
        with torch.no_grad():
            seen = nn.Sequential(*layers_of_row)(torch.tensor(x[160:]))
            outputs = seen.permute(0, 2, 3, 1).flatten(1) @ next(parameters) + next(parameters)
        accuracies.append(float((outputs.argmax(dim=1).numpy() == y[160:]).mean()))
    last = run.clients().to_polars().filter(polars.col("round") == 2).sort("row")
    assert accuracies == pytest.approx(last["accuracy"].to_list())


def test_runs_are_chosen_by_their_settings(experiment: dict[str, Any]) -> None:
    sweep = {"grid": {"topology": ["ring", {"regular": {"degree": 4}}], "seed": [1, 2, 3], "algorithm.dsgd.learning_rate": [0.1, 1]}}
    runs = mf.run({**experiment, "rounds": 1, "sweep": sweep}, progress=False)

    def labels(chosen: mf.Runs) -> list[str]:
        return [run.label for run in chosen]

    assert labels(runs.only(topology="ring")) == [label for label in labels(runs) if "topology=ring" in label]
    assert len(runs.only(topology="regular", seed=range(2, 4))) == 4 and len(runs.only(degree=4, seed=1)) == 2
    assert len(runs.only({"topology": {"regular": {"degree": 4}}})) == 6
    assert len(runs.only({"algorithm.dsgd.learning_rate": 1.0})) == len(runs.only(learning_rate=1)) == len(runs.only(topology=["ring", "torus"])) == 6
    assert len(runs.only(algorithm="dsgd")) == 12
    with pytest.warns(mf.MeshfoldWarning, match="only: no run is left: seed is one of 1, 2, 3$"):
        assert len(runs.only(seed=7)) == 0
    with pytest.warns(mf.MeshfoldWarning, match="only: no run is left: topology is one of ring, regular in the runs with seed=1$"):
        assert len(runs.only(seed=1, topology="torus")) == 0
    assert runs.only(seed=2)[0].id == runs[2].id
    with pytest.raises(ValueError, match="no run has a setting `sede`"):
        runs.only(sede=1)
