"""Methods in Python on a GPU. With MESHFOLD_GPU=1; needs a package built with the feature `gpu`, and a GPU or software Vulkan."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import methods
import numpy as np
import pytest
from conftest import Halt, halt_at
from own_models import gradients, outputs
from test_own_methods import records, with_algorithm

import meshfold as mf

pytestmark = pytest.mark.skipif("MESHFOLD_GPU" not in os.environ, reason="needs a package built for GPUs: see docs/devices.md")

Experiment = dict[str, Any]

assert methods.Choco.gamma == 0.4

LOOKS: list[Any] = []


class LooksOnGpu(mf.Method):
    """Has a test look at the models."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        LOOKS[-1](models, round)


def runs_of(experiment: Experiment, device: str = "wgpu", **options: Any) -> list[list[dict[str, Any]]]:
    runs = mf.run(experiment, device=device, progress=False, **options)
    assert all(run.is_finished for run in runs)
    return [records(run.folder) for run in runs]


@pytest.mark.parametrize(
    ("mine", "built_in", "keys"),
    [
        ("my_dsgd", "dsgd", {"local": {"steps": 3}, "momentum": 0.9}),
        ("my_dfedavgm", "dfedavgm", {"local": {"epochs": 1}, "momentum": 0.9}),
        ("my_tracking", "gradient_tracking", {"local": {"steps": 1}, "momentum": 0.0}),
    ],
)
def test_it_has_the_bits_of_the_built_in_one(experiment: Experiment, mine: str, built_in: str, keys: dict[str, Any]) -> None:
    assert runs_of(with_algorithm(experiment, mine, **keys)) == runs_of(with_algorithm(experiment, built_in, **keys))


class Everything(mf.Method):
    """Uses what a round offers beyond local work."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        gradients, rates = round.gradients(models)
        again, _ = round.gradients(models, same_batches=True)
        assert (again.numpy() == gradients.numpy()).all()
        models.add_scaled(gradients, -rates)
        round.train(models, steps=np.arange(10) % 3, clients=np.arange(10)[::-1])
        losses, _ = round.evaluate(models.gather(range(5)), clients=[9, 8, 7, 6, 5])
        round.record("loss", losses.mean())
        round.send(round.quantize(models.copy(), 8), edges=[[0, 5], [3, 1]])
        weights = np.eye(10) + 0.5 * np.roll(np.eye(10), 1, axis=1)
        models.mix(weights / 1.5).clip(20.0)


@pytest.mark.parametrize(("name", "keys"), [("choco", {"gamma": 0.3, "keep": 1.0}), ("everything", {})])
def test_it_comes_to_what_the_processor_comes_to(experiment: Experiment, name: str, keys: dict[str, float]) -> None:
    mine = with_algorithm(experiment, name, **keys)
    (processor,), (gpu,) = runs_of(mine, "cpu", results="processor"), runs_of(mine, results="gpu")
    assert len(gpu) == len(processor)
    for expected, found in zip(processor, gpu, strict=True):
        assert found["bytes_total"] == expected["bytes_total"]
        for key in ("train_loss", "consensus_distance"):
            if expected.get(key) is not None:
                assert found[key] == pytest.approx(expected[key], rel=1e-3, abs=1e-6), key
        assert ("own" in found) == ("own" in expected) == (name == "everything" and found["round"] > 0)
        if "own" in expected:
            assert found["own"]["loss"] == pytest.approx(expected["own"]["loss"], rel=1e-3)


def test_a_run_that_was_interrupted_goes_on_with_the_same_bits(experiment: Experiment) -> None:
    choco = {**with_algorithm(experiment, "choco"), "evaluate": {"every": 1}, "checkpoint": {"every": 1}}
    (whole,) = runs_of(choco, results="whole")
    with pytest.raises(Halt):
        mf.run(choco, device="wgpu", results="broken", progress=False, on_record=halt_at(2))
    (broken,) = Path("broken").rglob("metrics.jsonl")
    assert len(broken.read_text().splitlines()) < len(whole)
    assert runs_of(choco, results="broken") == [whole]


def test_runs_side_by_side_have_the_bits_that_each_has_alone(experiment: Experiment) -> None:
    choco = {**with_algorithm(experiment, "choco"), "sweep": experiment["sweep"]}
    alone = runs_of(choco, results="alone", at_once=1)
    assert len(alone) == 4
    assert runs_of(choco, results="together", at_once=4) == alone


def test_stacks_compute_as_numpy_does(experiment: Experiment) -> None:
    looked = []

    def at(models: mf.Stack, round: mf.Round) -> None:
        w = models.numpy().astype(np.float64)
        scales = np.linspace(-1, 3, len(w)).astype(np.float32)
        expected = {
            "sum": ((models + models * 2.0), 3 * w),
            "difference": (models - models / scales, w - w / scales[:, None]),
            "negative": (-models, -w),
            "added": (models.copy().add_scaled(models, scales), w * (1 + scales[:, None])),
            "gathered": (models.gather([3, 0, 3]), w[[3, 0, 3]]),
            "mean": (models.mean(), w.mean(axis=0, keepdims=True)),
            "zeros": (models.zeros_like(), 0 * w),
        }
        for name, (found, wanted) in expected.items():
            assert np.allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6), name
        assert np.allclose(models.norms(), np.linalg.norm(w, axis=1), rtol=1e-5)
        kept = models.copy().top_k(0.1).numpy()
        smallest = np.sort(np.abs(w), axis=1)[:, -785][:, None]
        assert (kept == np.where(np.abs(w) >= smallest, models.numpy(), 0)).all()
        moved = models.copy()
        moved.scatter([1], models.gather([4]))
        assert (moved.numpy()[1] == models.numpy()[4]).all() and (moved.numpy()[2] == models.numpy()[2]).all()
        layers = {name: layer + 1 for name, layer in models.by_layer().items()}
        moved.set(layers)
        assert np.allclose(moved.numpy(), w + 1, rtol=1e-5, atol=1e-6)
        with pytest.raises(BufferError, match=r"on the device wgpu.*`stack\.numpy\(\)` copies it"):
            np.from_dlpack(models)
        looked.append(round.number)

    LOOKS.append(at)
    runs_of({**with_algorithm(experiment, "looks_on_gpu"), "rounds": 2})
    LOOKS.pop()
    assert looked == [1, 2]


def test_models_in_python_are_for_the_processor(experiment: Experiment) -> None:
    def zeros(features: int, classes: int) -> dict[str, tuple[int, ...]]:
        return {"w1": (features, 4), "b1": (4,), "w2": (4, classes), "b2": (classes,)}

    with pytest.raises(mf.RunFailed, match="the model computes in host memory: use the processor, `--device cpu`") as raised:
        mf.run({**experiment, "model": mf.model(zeros, outputs, gradients)}, device="wgpu", progress=False)
    assert len(raised.value.failures) == 4
