"""Stacks as arrays of NumPy, PyTorch and JAX."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pyarrow
import pytest
from own_models import needs

import meshfold as mf

Experiment = dict[str, Any]

#: What a method of the tests does with the models in each round.
LOOKS: list[Any] = []


class Looks(mf.Method):
    """Has a test look at the models."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        LOOKS[-1](models, round)


def look(experiment: Experiment, at: Any, model: Any = "logistic") -> None:
    """Calls `at(models, round)` in two rounds."""
    algorithm = {"own": {"name": "looks", "batch_size": 20, "learning_rate": 0.1}}
    LOOKS.append(at)
    try:
        mf.run({**experiment, "algorithm": algorithm, "model": model, "sweep": None, "rounds": 2}, progress=False)
    finally:
        LOOKS.pop()


def address(array: Any) -> int:
    place: int = array.__array_interface__["data"][0]
    return place


def test_layers_are_views_of_the_memory_of_the_stack(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        padded, layers = models.numpy(padded=True), models.by_layer()
        assert padded.shape[0] == 10 and padded.shape[1] % 64 == 0
        assert address(padded) == address(models.numpy(padded=True)), "there is no copy"
        weight, bias = layers.values()
        assert address(weight) == address(padded) and weight.strides[0] == padded.strides[0]
        assert (weight.reshape(10, -1) == padded[:, :7840]).all()
        assert (address(bias) - address(padded)) % 256 == 0
        assert (np.concatenate([weight.reshape(10, -1), bias.reshape(10, -1)], 1) == models.numpy()).all()
        for array in (padded, weight, models.numpy()):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        for view in (padded, weight, padded[1:], weight.view()):
            with pytest.raises(ValueError, match="WRITEABLE"):
                view.flags.writeable = True

    look(experiment, at)


@pytest.mark.parametrize(
    "change",
    [
        lambda models, round: round.train(models),
        lambda models, round: models.mix(round.mixing),
        lambda models, round: models.add_scaled(models.copy(), 2.0),
        lambda models, round: models.top_k(0.1),
        lambda models, round: models.scatter([0, 1], models.gather([2, 3])),
        lambda models, round: models.set(np.ones(models.shape, np.float32)),
    ],
)
def test_an_array_stays_as_it_was_whatever_becomes_of_the_stack(experiment: Experiment, change: Any) -> None:
    held: list[Any] = []

    def at(models: mf.Stack, round: mf.Round) -> None:
        if round.number == 1:
            round.train(models)
            array = models.numpy(padded=True)
            held.append((array, array.copy()))
            before = address(array)
            change(models, round)
            assert address(models.numpy(padded=True)) != before
            assert (array == held[0][1]).all() and (models.numpy(padded=True) != array).any()

    look(experiment, at)
    gc.collect()
    array, copy = held[0]
    assert (array == copy).all(), "it outlives the run"


def test_a_stack_that_nobody_looks_at_is_not_copied(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        before = address(models.numpy(padded=True))
        models.add_scaled(models.copy(), 1.0)
        assert address(models.numpy(padded=True)) == before

    look(experiment, at)


def test_a_stack_may_be_combined_with_itself(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        start = models.numpy().copy()
        same = models
        models += models
        assert models is same and (models.numpy() == start + start).all()
        models.add_scaled(models, -0.5)
        assert (models.numpy() == start).all()
        models.scatter([1], models.gather([0]))
        models.scatter(np.arange(10)[::-1], models)
        assert (models.numpy()[8] == models.numpy()[9]).all() and (models.numpy()[0] == start[9]).all()
        before = models.copy()
        kept = models.zeros_like()
        round.train(models, velocity=kept, anchor=models, mu=0.1)
        assert (models.numpy() != before.numpy()).any()
        with pytest.raises(ValueError, match="train: the velocity is the models themselves"):
            round.train(models, velocity=models)
        models -= models
        assert (models.numpy() == 0).all()

    look(experiment, at)


def test_scales_are_arrays_of_any_kind_on_either_side(experiment: Experiment) -> None:
    scales = np.arange(1, 11, dtype=np.float32)

    def at(models: mf.Stack, round: mf.Round) -> None:
        expected = models.numpy() * scales[:, None]
        for scaled in (models * scales, scales * models, models * list(scales), models * pyarrow.array(scales)):
            assert isinstance(scaled, mf.Stack) and (scaled.numpy() == expected).all()
        assert ((np.float64(2) * models).numpy() == models.numpy() * 2).all()
        with pytest.raises(TypeError, match="found str, needed a number, or one for each of 10 rows"):
            models *= "much"

    look(experiment, at)


def test_layers_are_set_by_their_names(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        layers = {name: layer.copy() for name, layer in models.by_layer().items()}
        weight, bias = layers
        models.set({bias: layers[bias] + 1})
        assert (models.by_layer()[bias] == layers[bias] + 1).all()
        assert (models.by_layer()[weight] == layers[weight]).all()
        with pytest.raises(ValueError, match=rf"there is no layer `b`: there are `{weight}`, `{bias}`"):
            models.set({"b": layers[bias]})
        with pytest.raises(ValueError, match=rf"the layer `{bias}` is of shape \[10, 10\], needed \[10, 1, 10\]"):
            models.set({bias: layers[bias][:, 0]})
        with pytest.raises(ValueError, match="row 1 would be multiplied by NaN"):
            models *= [1.0, float("nan"), *[1.0] * 8]

    look(experiment, at)


def test_models_without_padding_between_layers_are_not_copied_at_all(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        assert models.numpy().shape == models.shape == (10, 784 * 10)
        assert address(models.numpy()) == address(models.numpy(padded=True))

    look(experiment, at, {"linear": {"bias": False}})


def test_dlpack_copies_unless_it_is_told_not_to(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        assert models.__dlpack_device__() == (1, 0)
        padded = models.numpy(padded=True)
        copy = np.from_dlpack(models)
        assert (copy == padded).all() and address(copy) != address(padded)
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
            read = np.from_dlpack(models, copy=False)  # type: ignore[call-arg, unused-ignore]
            assert address(read) == address(padded) and not read.flags.writeable

    look(experiment, at)


def test_pytorch_reads_stacks(experiment: Experiment) -> None:
    needs("torch")
    import torch

    def at(models: mf.Stack, round: mf.Round) -> None:
        padded = models.numpy(padded=True)
        read = torch.from_dlpack(models)
        assert (read.numpy() == padded).all()
        read += 1
        assert (read.numpy() != padded).any() and (padded == models.numpy(padded=True)).all(), "it is a copy"
        assert torch.from_dlpack(models, copy=False).data_ptr() == address(padded)
        models.set(torch.ones(models.shape))
        assert (models.numpy() == 1).all()
        assert ((models * torch.full((10,), 3.0)).numpy() == 3).all()

    look(experiment, at)


def test_jax_reads_stacks(experiment: Experiment) -> None:
    needs("jax")
    import jax

    def at(models: mf.Stack, round: mf.Round) -> None:
        padded = models.numpy(padded=True)
        assert (np.asarray(jax.dlpack.from_dlpack(models)) == padded).all()
        assert jax.device_put(padded).unsafe_buffer_pointer() == address(padded), "memory begins where JAX needs it to"
        models.set(jax.numpy.ones(models.shape))
        assert (models.numpy() == 1).all()

    look(experiment, at)


def test_padded_rows_can_be_set(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        before = models.numpy().copy()
        models.set(models.numpy(padded=True) * np.float32(2) + np.float32(1))
        assert (models.numpy() == 2 * before + 1).all()
        weight, bias = models.by_layer().values()
        begin, size = (address(bias) - address(weight)) // 4, models.numpy(padded=True).shape[1]
        assert (models.numpy(padded=True)[:, weight[0].size : begin] == 0).all(), "padding stays zero"
        assert (models.numpy(padded=True)[:, begin + bias[0].size : size] == 0).all()
        copy = models.copy()
        models.set(before)
        assert (models.numpy() == before).all() and (copy.numpy() == 2 * before + 1).all()
        models.set(copy.numpy(padded=True))
        assert (models.numpy() == copy.numpy()).all()
        for width in (size - 1, size + 1):
            with pytest.raises(ValueError, match=f"set: the array is of shape .*needed .10, {before.shape[1]}"):
                models.set(np.zeros((10, width), np.float32))

    look(experiment, at)


def test_an_array_that_is_not_finite_changes_nothing(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        before = models.numpy().copy()
        wrong = before.copy()
        wrong[3, 5] = np.nan
        with pytest.raises(ValueError, match=r"set: the array is nan at \[3, 5\], needed finite numbers"):
            models.set(wrong)
        layers = {name: layer.copy() for name, layer in models.by_layer().items()}
        (first, last) = layers
        layers[first][:] = 7
        layers[last][2, 0, 1] = np.inf
        with pytest.raises(ValueError, match=f"set: the layer `{last}` is inf"):
            models.set(layers)
        assert (models.numpy() == before).all()
        # Large numbers are finite although their sum is not.
        models.set(np.full(models.shape, 3e38, np.float32))
        assert (models.numpy() == np.float32(3e38)).all()
        models.set(before)

    look(experiment, at)


def test_layers_that_are_set_leave_earlier_arrays_as_they_were(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        array, layers = models.numpy(), models.by_layer()
        name, weight = next(iter(layers.items()))
        before, kept = array.copy(), weight.copy()
        models.set({name: weight + np.float32(1)})
        assert (array == before).all() and (weight == kept).all()
        changed = models.by_layer()
        assert (changed[name] == kept + 1).all()
        assert all((changed[other] == layers[other]).all() for other in layers if other != name)

    look(experiment, at)


def test_arrays_are_added_to_stacks(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        before = models.numpy().copy()
        noise: Any = np.random.default_rng(1).normal(size=models.shape)
        single = noise.astype(np.float32)
        assert ((models + noise).numpy() == before + single).all()
        assert ((noise + models).numpy() == before + single).all()
        assert ((models - single).numpy() == before - single).all()
        assert ((single - models).numpy() == single - before).all()
        models += noise
        assert (models.numpy() == before + single).all()
        models -= single
        with pytest.raises(ValueError, match=r"\+: the array is of shape \[2, 2\], needed \[10, 7850\]"):
            models += np.zeros((2, 2))

    look(experiment, at)


def test_what_stacks_cannot_do_is_told_with_what_they_can(experiment: Experiment) -> None:
    def at(models: mf.Stack, round: mf.Round) -> None:
        rows: Any = models
        with pytest.raises(TypeError, match=r"models.gather\(\[0, 1\]\) is a stack of some of its rows"):
            rows[0]
        with pytest.raises(TypeError, match=r"models.mix\(matrix\) mixes in place"):
            np.eye(10) @ rows
        with pytest.raises(ValueError, match="gather: row 99 is out of range: the stack holds 10 rows, counted from 0"):
            models.gather([99])
        with pytest.raises(ValueError, match="scatter: row 1 is named twice"):
            models.scatter([1, 1], models.gather([0, 0]))

    look(experiment, at)


def test_a_round_that_is_over_is_of_no_use(experiment: Experiment) -> None:
    kept: list[mf.Round] = []

    def at(models: mf.Stack, round: mf.Round) -> None:
        kept.append(round)
        kept[0].train(models)

    with pytest.raises(mf.RunFailed, match="round 1 is over, or belongs to another thread"):
        look(experiment, at)
