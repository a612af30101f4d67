"""Models that are made in Python."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import own_models
import pytest
from numpy.typing import NDArray
from own_models import MLPS, Numbers, Start, needs

import meshfold as mf
from meshfold._jax_models import _padded
from meshfold._models import _Model
from meshfold._torch_modes import _draws_in_training

Experiment = dict[str, Any]

#: How far records may be from those of the built-in model after some rounds: sums go in another order, by which single numbers
#: differ in their last bits.
CLOSE = 2e-3

STARTS: list[Start] = []


class StartKeeper(mf.Method):
    """Keeps what the first client starts from."""

    overlay = False

    def start(self, models: mf.Stack) -> None:
        layers = [layer[0].copy() for layer in models.by_layer().values()]
        names = ["w1", "b1", "w2", "b2"]
        STARTS.append({name: layer if name[0] == "w" else layer[0] for name, layer in zip(names, layers, strict=True)})

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)


def records(run: mf.Run) -> list[dict[str, Any]]:
    """The records of a run without what depends on the clock."""
    lines = (Path(run.folder) / "metrics.jsonl").read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if "seconds" not in key} for line in lines]


def one(experiment: Experiment, **parts: Any) -> mf.Run:
    (run,) = mf.run({**experiment, "sweep": None, **parts}, progress=False)
    assert run.is_finished
    return run


@pytest.fixture
def start(experiment: Experiment) -> Start:
    """What the built-in multilayer perceptron starts from."""
    keeper = {"own": {"name": "start_keeper", "batch_size": 20, "learning_rate": 0.1}}
    one(experiment, model={"mlp": {"hidden": [16]}}, algorithm=keeper, topology=None, rounds=1)
    return STARTS.pop()


METHODS: dict[str, Experiment] = {
    "dsgd": {"algorithm": {"dsgd": {"batch_size": 20, "learning_rate": 0.1}}},
    "short batches": {
        # Clients hold 8 to 200 examples, so that rows end at different times with batches of all sizes.
        "partition": {"dirichlet": {"clients": 10, "alpha": 0.3, "min_examples": 8}},
        "algorithm": {"dfedavgm": {"local": {"epochs": 2}, "batch_size": 16, "learning_rate": 0.05, "momentum": 0.9}},
    },
    "scaffold": {"algorithm": {"scaffold": {"local": {"steps": 4}, "batch_size": 20, "learning_rate": 0.05}}, "topology": None},
    "cliques": {
        "topology": {"d_cliques": {"max_clique_size": 5}},
        "algorithm": {"d_cliques": {"clique_averaging": True, "batch_size": 20, "learning_rate": 0.1, "momentum": 0.9}},
    },
    "clipped": {
        "algorithm": {
            "dfedavgm": {
                "local": {"steps": 3}, "batch_size": "full", "learning_rate": 0.1, "momentum": 0.5, "weight_decay": 0.01,
                "clip_norm": 0.5,
            }
        },
        "failures": [{"clients": {"share": 0.3}, "redraw": "each_round"}],
    },
    "proximal": {"algorithm": {"fedprox": {"mu": 0.1, "local": {"epochs": 1}, "batch_size": 20, "learning_rate": 0.05}}, "topology": None},
    "walks": {"algorithm": {"dfedrw": {"walkers": 4, "hops": 3, "local": {"epochs": 1}, "batch_size": 20, "learning_rate": 0.05}}},
}


@pytest.mark.parametrize("kind", MLPS)
@pytest.mark.parametrize("method", METHODS)
def test_it_learns_as_the_built_in_model_does(experiment: Experiment, start: Start, method: str, kind: str) -> None:
    base = {**experiment, **METHODS[method], "evaluate": {"every": 1, "train": True}}
    built_in = records(one(base, model={"mlp": {"hidden": [16]}}))
    own = records(one(base, model=own_models.mlp(kind, start)))
    assert len(own) == len(built_in)
    for expected, found in zip(built_in, own, strict=True):
        assert found.keys() == expected.keys()
        for key in ("local_steps", "examples_seen", "bytes_total"):
            assert found[key] == expected[key]
        for key in ("train_loss", "consensus_distance", "mean_model_accuracy"):
            if expected.get(key) is not None:
                assert found[key] == pytest.approx(expected[key], rel=CLOSE, abs=0.011 if "accuracy" in key else 1e-4), key
        assert found["test_loss"]["mean"] == pytest.approx(expected["test_loss"]["mean"], rel=CLOSE)
        # One example of the 100 may fall to the other side.
        assert found["test_accuracy"]["mean"] == pytest.approx(expected["test_accuracy"]["mean"], abs=0.005)


@pytest.mark.parametrize("kind", MLPS)
def test_a_run_that_was_interrupted_goes_on_with_the_same_bits(experiment: Experiment, start: Start, kind: str) -> None:
    model = own_models.mlp(kind, start)
    # JAX compiles for every size of a batch.
    method = "dsgd" if kind == "jax-vmap" else "short batches"
    base = {**experiment, **METHODS[method], "sweep": None, "model": model, "rounds": 4, "checkpoint": {"every": 1}}
    (whole,) = mf.run(base, results="whole", progress=False)

    def stop(run: mf.RunInfo, record: dict[str, Any]) -> None:
        if record["round"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mf.run(base, results="broken", progress=False, on_record=stop)
    (resumed,) = mf.run(base, results="broken", progress=False)
    assert records(resumed) == records(whole)
    (again,) = mf.run(base, results="again", progress=False, threads=1)
    assert records(again) == records(whole), "the bits do not depend on the threads"


def test_gradients_are_those_of_differences(start: Start) -> None:
    """The gradient in NumPy, which the others are compared with through the built-in model."""
    fitted = _Model(start, own_models.outputs, own_models.gradients, None).fit(784, 10, False)
    draws = np.random.default_rng(3)
    rows = draws.normal(0, 0.3, (2, fitted.layout.width)).astype(np.float32)
    x = draws.normal(0, 1, (2, 5, 784)).astype(np.float32)
    y = draws.integers(0, 10, (2, 5))
    _, gradients, _ = fitted.gradients(rows, x, y)
    for (name, _), gradient in zip(fitted.shapes, gradients, strict=True):
        place = fitted.layout.places[name]
        towards = draws.normal(0, 1, gradient.reshape(2, -1).shape)
        moved = []
        for sign in (1, -1):
            other = rows.astype(np.float64)
            other[:, place] += sign * 1e-4 * towards
            moved.append(own_models.gradients(fitted.layout.views(other), x.astype(np.float64), y)[0])
        slope = (moved[0] - moved[1]) / 2e-4
        assert np.allclose(slope, (gradient.reshape(2, -1) * towards).sum(axis=1), rtol=1e-2, atol=1e-3), name


def linear(p: dict[str, Numbers], x: Numbers) -> Any:
    return x @ p["w"]


def linear_gradients(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> tuple[Any, dict[str, Any]]:
    losses, slopes = own_models.judged(linear(p, x), y)
    return losses, {"w": np.swapaxes(x, 1, 2) @ slopes}


def test_all_clients_go_through_one_call(experiment: Experiment) -> None:
    calls: list[tuple[int, ...]] = []

    def gradients(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> Any:
        assert not p["w"].flags.writeable and not x.flags.writeable and p["w"].base is not None
        calls.append(x.shape)
        return linear_gradients(p, x, y)

    one(experiment, model=mf.model({"w": (784, 10)}, linear, gradients), rounds=3)
    assert calls[-3:] == [(10, 20, 784)] * 3, "one for each step"
    assert calls[-4] == (1, 3, 784) and set(calls[:-4]) == {(2, 3, 784)}, "two to try it, and some for differences of its losses"


def test_shapes_may_depend_on_the_data_and_models_start_as_they_say(experiment: Experiment) -> None:
    def shapes(features: int, classes: int) -> dict[str, Any]:
        return {"w": (features, classes)}

    drawn = mf.model(shapes, linear, linear_gradients)
    first, second = (one(experiment, model=drawn, seed=seed, start="independent") for seed in (1, 2))
    assert records(first)[0]["consensus_distance"] > 0
    assert records(first)[0]["test_loss"] != records(second)[0]["test_loss"]
    given = mf.model({"w": np.zeros((784, 10), np.float32)}, linear, linear_gradients)
    assert records(one(experiment, model=given))[0]["test_loss"]["mean"] == pytest.approx(np.log(10))
    normal = mf.model(shapes, linear, linear_gradients, initial=lambda draw: {"w": draw.normal(0, 0.1, (784, 10))})
    assert abs(records(one(experiment, model=normal))[0]["test_loss"]["mean"] - np.log(10)) > 0.01


def test_the_id_of_a_run_changes_with_the_model(experiment: Experiment) -> None:
    def scaled(scale: float) -> mf.Part:
        def outputs(p: dict[str, Numbers], x: Numbers) -> Any:
            return np.float32(scale) * linear(p, x)

        return mf.model({"w": (784, 10)}, outputs, linear_gradients, label="scaled")

    assert scaled(1.0).version == scaled(1.0).version != scaled(2.0).version
    runs = mf.run({**experiment, "sweep": {"grid": {"model": [scaled(1.0), scaled(2.0)]}}}, progress=False)
    assert len({run.id for run in runs}) == 2
    named = mf.model({"w": (784, 10)}, linear, linear_gradients, label="mine", version="7")
    assert (named.name, named.version, named.kind) == ("mine", "7", "model")


def nothing(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> Any:
    return linear_gradients(p, x, y)[0], {}


def half(p: dict[str, Numbers], x: Numbers) -> Any:
    return linear(p, x)[:, :, :5]


def raising(p: dict[str, Numbers], x: Numbers) -> Numbers:
    raise RuntimeError("no outputs today")


def meeting(p: dict[str, Numbers], x: Numbers) -> Any:
    return linear(p, x) + p["w"].sum(axis=(0, 1))


def whole_numbers(p: dict[str, Numbers], x: Numbers) -> Any:
    return linear(p, x).astype(int)


def shared(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> Any:
    losses, gradients = linear_gradients(p, x, y)
    return losses, {"w": gradients["w"] / len(y)}


def averaged(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> Any:
    losses, gradients = linear_gradients(p, x, y)
    return np.full_like(losses, 9 * losses.mean() * len(y)), gradients


def endless(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> Any:
    losses, gradients = linear_gradients(p, x, y)
    return losses, {"w": gradients["w"] * np.float32(np.nan)}


@pytest.mark.parametrize(
    ("outputs", "gradients", "words"),
    [
        (half, linear_gradients, r"what `outputs` returned is of shape \[2, 3, 5\], needed \[2, 3, 10\]"),
        (raising, linear_gradients, "no outputs today"),
        (meeting, linear_gradients, "the outputs of a row change with the rows beside it"),
        (whole_numbers, linear_gradients, "what `outputs` returned is of type int64, needed floating-point numbers"),
        (linear, nothing, r"returned gradients by \[\], needed \['w'\]"),
        (linear, lambda p, x, y: 3, "`gradients` returned int, needed a pair"),
        (linear, lambda p, x, y: (np.zeros(3, np.float32), {"w": p["w"]}), r"losses .* of shape \[3\], needed \[2\]"),
        (linear, lambda p, x, y: (linear_gradients(p, x, y)[0], {"w": p["w"][0]}), r"the gradient by `w` that `gradients` returned is of shape \[784, 10\]"),
        (linear, shared, "the gradients of a row change with the rows beside it: .* the sum of all losses, not their mean"),
        (linear, averaged, "the losses of a row change with the rows beside it"),
        (linear, endless, "the gradient of `w` of row 0 is not finite"),
    ],
)
def test_a_model_that_is_wrong_is_told_before_anything_is_run(
    experiment: Experiment, outputs: Any, gradients: Any, words: str
) -> None:
    with pytest.raises(mf.ConfigError, match=words) as raised:
        one(experiment, model=mf.model({"w": (784, 10)}, outputs, gradients))
    assert "own model" in raised.value.message and not Path("runs").exists()


def test_an_exception_in_a_step_fails_its_run_with_the_traceback_and_no_other(experiment: Experiment) -> None:
    calls = [0]

    def later(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> Any:
        # The trial has three examples.
        calls[0] += x.shape[1] == 20
        if calls[0] == 2:
            raise RuntimeError("enough steps")
        return linear_gradients(p, x, y)

    models = [mf.model({"w": (784, 10)}, linear, gradients) for gradients in (later, linear_gradients)]
    with pytest.raises(mf.RunFailed) as raised:
        mf.run({**experiment, "sweep": {"grid": {"model": models}}}, progress=False)
    (told,) = raised.value.failures.values()
    assert told.startswith("in round 2: own model: Traceback") and "enough steps" in told and "in later" in told
    assert sum(run.is_finished for run in raised.value.runs) == 1


def test_a_gradient_that_is_not_finite_names_parameter_and_row(experiment: Experiment) -> None:
    def broken(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> Any:
        losses, gradients = linear_gradients(p, x, y)
        if len(x) == 10:
            gradients["w"][7, 3, 2] = np.inf
        return losses, gradients

    with pytest.raises(mf.RunFailed, match="the gradient of `w` of row 7 is not finite"):
        one(experiment, model=mf.model({"w": (784, 10)}, linear, broken))


def test_a_step_may_keep_the_arrays_that_it_was_given(experiment: Experiment) -> None:
    kept: list[Numbers] = []

    def keeping(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> Any:
        kept.append(p["w"])
        kept.append(x)
        return linear_gradients(p, x, y)

    plain = mf.model({"w": (784, 10)}, linear, linear_gradients)
    expected = records(one(experiment, model=plain))
    found = records(one(experiment, model=mf.model({"w": (784, 10)}, linear, keeping)))
    assert found == expected
    assert all(np.isfinite(array).all() for array in kept)
    first, second = kept[4], kept[6]
    assert not (first == second).all(), "they hold the models of their step"


def test_modules_of_pytorch_start_from_the_seed_and_may_be_convolutions(experiment: Experiment) -> None:
    needs("torch")
    from torch import nn

    def convolutions() -> nn.Module:
        return nn.Sequential(
            nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 4, 5, stride=2), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5),
            nn.Linear(576, 10),
        )

    model = mf.torch_model(convolutions)
    first, second = (records(one(experiment, model=model, seed=seed)) for seed in (1, 2))
    assert first[0]["test_loss"] != second[0]["test_loss"]
    assert first[-1]["train_loss"] < first[1]["train_loss"]


class ModuleMaker(mf.Method):
    """Makes a module in `start`, as methods do that take gradients by PyTorch, and records how far from zero the models begin."""

    def start(self, models: mf.Stack) -> None:
        from torch import nn

        self._net = nn.Linear(784, 10)

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.record("first", models.norms())
        round.train(models)
        round.send(models)


def test_modules_start_from_the_same_numbers_beside_other_runs(experiment: Experiment) -> None:
    needs("torch")
    from torch import nn

    def slow() -> nn.Module:
        first = nn.Linear(784, 4)
        # Meanwhile another run would draw, if it could.
        time.sleep(0.02)
        return nn.Sequential(first, nn.Linear(4, 10))

    algorithm = {"own": {"name": "module_maker", "batch_size": 20, "learning_rate": 0.1}}
    seeds = {"grid": {"seed": [1, 2, 3, 4]}}
    study = {**experiment, "model": mf.torch_model(slow), "algorithm": algorithm, "rounds": 1, "sweep": seeds}
    alone, beside = (mf.run(study, progress=False, again=True, at_once=at_once).metrics().to_polars() for at_once in (1, 4))
    first = alone.filter(alone["round"] == 1)["own.first"].to_list()
    assert len(set(first)) == 4
    assert beside.filter(beside["round"] == 1)["own.first"].to_list() == first


def test_a_module_that_is_not_wrapped_or_takes_pictures_is_told_what_is_needed(experiment: Experiment) -> None:
    needs("torch")
    from torch import nn

    pictures = nn.Sequential(nn.Conv2d(1, 4, 5), nn.Flatten(), nn.Linear(2304, 10))
    with pytest.raises(TypeError, match=r"model: found the module Sequential, needed `mf.torch_model\(module\)`"):
        one(experiment, model=pictures)
    with pytest.raises(mf.ConfigError, match=r"comes as a row of 784 numbers.*put\s.*nn.Unflatten\(1, \(channels, height, width\)\)"):
        one(experiment, model=mf.torch_model(pictures))


def test_statistics_of_the_batches_seen_are_refused(experiment: Experiment) -> None:
    needs("torch")
    from torch import nn

    with pytest.raises(mf.ConfigError, match=r"`1` \(BatchNorm1d\) keeps statistics .*nn.GroupNorm or nn.LayerNorm"):
        one(experiment, model=mf.torch_model(lambda: nn.Sequential(nn.Linear(784, 10), nn.BatchNorm1d(10))))


def warned(experiment: Experiment, module: Any) -> list[str]:
    """What a run of `module`, and then another run of the same model, warn of."""
    model = mf.torch_model(module)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        one(experiment, model=model, rounds=1)
        one(experiment, model=model, rounds=1, seed=2)
    ours = [warning for warning in caught if warning.category is mf.MeshfoldWarning]
    assert {warning.filename for warning in ours} <= {__file__}, "they name a line of the user's"
    return [str(warning.message) for warning in ours]


def test_dropout_that_is_off_is_told_once(experiment: Experiment) -> None:
    needs("torch")
    import torch
    from torch import nn

    class Dropping(nn.Linear):  # type: ignore[misc, unused-ignore]
        def forward(self, x: Any) -> Any:
            return torch.nn.functional.dropout(super().forward(x), 0.5, self.training)

    def sequential(*layers: Any) -> nn.Module:
        return nn.Sequential(nn.Linear(784, 10), *layers)

    none = "nothing is drawn at random by "
    many = [nn.Dropout(0.1) for _ in range(5)]
    for module, expected in [
        (sequential(nn.Dropout(0.3), nn.Dropout(0)), f"{none}`1` (Dropout): a module is used in evaluation mode"),
        (sequential(nn.AlphaDropout(0.3), nn.ReLU(), nn.Dropout(0.1)), f"{none}`1` (AlphaDropout), `3` (Dropout): "),
        (sequential(*many), f"{none}`1` (Dropout), `2` (Dropout), `3` (Dropout) and 2 more: "),
        (Dropping(784, 10), "`self.training` is always False in the module (Dropping): "),
    ]:
        (told,) = warned(experiment, module)
        assert told.startswith(f"torch_model: {expected}")
    attention = nn.MultiheadAttention(8, 2, dropout=0.1)
    assert _draws_in_training(attention) and not _draws_in_training(nn.MultiheadAttention(8, 2))
    assert warned(experiment, sequential(nn.Dropout(0), nn.ReLU())) == []


def test_statistics_of_the_batch_that_is_scored_are_told(experiment: Experiment) -> None:
    needs("torch")
    from torch import nn

    module = nn.Sequential(nn.Linear(784, 10), nn.BatchNorm1d(10, track_running_stats=False))
    (told,) = warned(experiment, module)
    assert told.startswith("torch_model: statistics of the batch normalise examples in `1` (BatchNorm1d), in evaluations as well")
    assert warned(experiment, nn.Sequential(nn.Linear(784, 10), nn.LayerNorm(10))) == []


def test_what_a_module_of_pytorch_does_not_train_stays(experiment: Experiment) -> None:
    needs("torch")
    import torch
    from torch import nn

    class Scaled(nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self, seed: int | None) -> None:
            super().__init__()
            generator = None if seed is None else torch.Generator().manual_seed(seed)
            self.register_buffer("scale", torch.rand(784, generator=generator))
            self.last = nn.Linear(784, 10)

        def forward(self, x: Any) -> Any:
            return self.last(x * self.scale)

    run = one(experiment, model=mf.torch_model(lambda: Scaled(3)))
    assert run.summary is not None and run.summary["parameters"] == 7850
    with pytest.raises(mf.ConfigError, match="`scale` is drawn by the run's seed, but it is not trained"):
        one(experiment, model=mf.torch_model(lambda: Scaled(None)))

    frozen = Scaled(3)
    free = mf.torch_model(frozen)
    frozen.last.weight.requires_grad_(False)
    model = mf.torch_model(frozen)
    assert model.version != free.version
    run = one(experiment, model=model)
    assert run.summary is not None and run.summary["parameters"] == 10, "the bias alone is trained"
    frozen.last.bias.requires_grad_(False)
    with pytest.raises(mf.ConfigError, match="no parameter that is trained"):
        one(experiment, model=mf.torch_model(frozen))


def test_a_model_that_starts_without_a_loss_is_not_told_of_its_learning_rate(experiment: Experiment) -> None:
    def outputs(p: dict[str, Numbers], x: Numbers) -> Any:
        # The trial has three examples of each of two rows.
        return linear(p, x) * np.float32(1 if x.shape[1] == 3 else np.nan)

    with pytest.raises(mf.RunFailed, match="infinite or NaN before it is trained") as raised:
        one(experiment, model=mf.model({"w": (784, 10)}, outputs, linear_gradients))
    assert "learning rate" not in str(raised.value)


def test_functions_of_jax_start_from_the_seed_and_have_losses_of_their_own(experiment: Experiment) -> None:
    needs("jax")
    import jax

    def initial(key: Any) -> Any:
        return {"dense": {"weight": 0.1 * jax.random.normal(key, (784, 10))}}

    def outputs(p: Any, x: Any) -> Any:
        return x @ p["dense"]["weight"]

    def squared(logits: Any, y: Any) -> Any:
        return ((logits - jax.nn.one_hot(y, 10)) ** 2).sum(axis=-1)

    base = {**experiment, "algorithm": {"dsgd": {"batch_size": 20, "learning_rate": 0.001}}}
    by_loss = {
        loss: [records(one(base, model=mf.jax_model(outputs, initial, loss=loss), seed=seed)) for seed in (1, 2)]
        for loss in (None, squared)
    }
    for first, second in by_loss.values():
        assert first[0]["test_loss"] != second[0]["test_loss"]
        assert first[-1]["train_loss"] < first[1]["train_loss"]
    assert by_loss[None][0][1]["train_loss"] != by_loss[squared][0][1]["train_loss"]


def test_jax_reads_what_a_step_is_given_without_a_copy(experiment: Experiment) -> None:
    needs("jax")
    import jax

    seen: list[bool] = []

    def gradients(p: dict[str, Numbers], x: Numbers, y: NDArray[np.int64]) -> Any:
        # Rows have zeros after the parameters, which `w` leaves out; functions of JAX are given whole rows.
        # The trial, with three examples, has copies for the differences of its losses.
        if x.shape[1] == 20:
            seen.append(jax.device_put(x).unsafe_buffer_pointer() == x.ctypes.data)
            seen.append(p["w"].ctypes.data % 64 == 0)
        return linear_gradients(p, x, y)

    one(experiment, model=mf.model({"w": (784, 10)}, linear, gradients), rounds=3)
    assert len(seen) == 6 and all(seen)


def test_jax_compiles_for_few_numbers_of_rows() -> None:
    def wanted(count: int) -> int:
        rows = np.arange(3 * count, dtype=np.float32).reshape(count, 3)
        padded = _padded(rows)
        assert (padded[:count] == rows).all() and (padded[count:] == rows[-1]).all()
        return len(padded)

    assert [wanted(count) for count in (1, 3, 9, 11, 33, 81, 97, 100, 101, 129, 1000)] == [1, 3, 9, 12, 40, 90, 100, 100, 112, 160, 1000]
    assert len({wanted(count) for count in range(1, 1001)}) < 60


def test_modules_that_compute_something_else_have_other_digests() -> None:
    nn = pytest.importorskip("torch").nn

    class Scaled(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, scale: float) -> None:
            super().__init__()
            self.scale = scale

        def forward(self, x: Any) -> Any:
            return self.scale * x

    def of(scale: float) -> str:
        return mf.torch_model(nn.Sequential(nn.Identity(), Scaled(scale))).version

    assert of(1.0) == of(1.0) != of(2.0)
    # The text of the module does not tell the heads.
    few, many = nn.MultiheadAttention(8, 2), nn.MultiheadAttention(8, 4)
    many.load_state_dict(few.state_dict())
    assert mf.torch_model(few).version != mf.torch_model(many).version

    def made(scale: float) -> Any:
        class Net(nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, x: Any) -> Any:
                return scale * x

        return Net

    assert mf.torch_model(made(1.0)).version == mf.torch_model(made(1.0)).version != mf.torch_model(made(2.0)).version


def of_numpy(draws: Any) -> mf.Part:
    return mf.model({"w": (784, 10)}, lambda p, x: x @ p["w"], linear_gradients, initial=lambda generator: {"w": draws.normal(size=(784, 10))})


def of_torch(draws: Any) -> mf.Part:
    import torch

    def made() -> Any:
        module = torch.nn.Linear(784, 10)
        module.weight.data[0, 0] = draws.normal()
        return module

    return mf.torch_model(made, version="1")


def of_jax(draws: Any) -> mf.Part:
    def initial(key: Any) -> Any:
        return {"w": draws.normal(size=(784, 10)).astype(np.float32)}

    return mf.jax_model(lambda p, x: x @ p["w"], initial, version="1")


@pytest.mark.filterwarnings("ignore:`<lambda>` uses")
@pytest.mark.parametrize(("made", "framework"), [(of_numpy, "numpy"), (of_torch, "torch"), (of_jax, "jax")])
def test_a_start_that_is_drawn_from_elsewhere_is_refused(experiment: Experiment, made: Any, framework: str) -> None:
    needs(framework)
    with pytest.raises(mf.ConfigError, match="made other parameters when it was called again for the same seed"):
        mf.plan({**experiment, "sweep": None, "model": made(np.random)})
