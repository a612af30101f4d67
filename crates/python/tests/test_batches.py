"""Batches, what models make of them, and gradients of losses that a method has itself."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from acting import Act, Experiment, act, bits
from conftest import Halt, halt_at
from numpy.typing import NDArray
from own_models import MLPS, gradients, mlp, needs, outputs
from test_own_methods import records, with_algorithm

import meshfold as mf

Numbers = NDArray[np.float32]


def softmax(outputs: NDArray[Any]) -> NDArray[np.float64]:
    shares = np.exp(outputs.astype(float) - outputs.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def slopes_of_cross_entropy(outputs: Numbers, batch: mf.Batch) -> Numbers:
    one_hot = np.eye(outputs.shape[-1])[batch.labels]
    return ((softmax(outputs) - one_hot) / np.maximum(batch.sizes, 1)[:, None, None]).astype(np.float32)


@pytest.mark.parametrize("keys", [{}, {"batch_size": 7}, {"draw": "with_replacement"}, {"batch_size": "full"}, {"weight_decay": 0.1, "clip_norm": 0.2}])
def test_gradients_on_the_next_batch_are_the_next_gradients(experiment: Experiment, keys: dict[str, Any]) -> None:
    def plain(models: mf.Stack, round: mf.Round) -> None:
        gradients, rates = round.gradients(models)
        models.add_scaled(gradients, -rates)

    def drawn(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch()
        gradients, rates = round.gradients(models, batch=batch)
        models.add_scaled(gradients, -rates)

    keys = {**keys, "learning_rate": {"step": {"initial": 0.5, "factor": 0.5, "every": 4}}}
    failures = [{"clients": {"share": 0.3}, "redraw": "each_round"}]
    mine = act(experiment, drawn, rounds=12, keys=keys, failures=failures)
    assert mine == act(experiment, plain, rounds=12, keys=keys, failures=failures)
    assert mine[-1]["train_loss"] is not None


@pytest.mark.parametrize("model", ["logistic", {"mlp": {"hidden": [12], "dropout": 0.3}}, "gn_lenet"])
def test_slopes_of_the_cross_entropy_have_its_gradient(experiment: Experiment, model: Any) -> None:
    found = []

    def both(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch(rows=np.arange(10) != 4)
        outputs = round.outputs(models, batch)
        assert outputs.shape == (10, 20, 10) and outputs.dtype == np.float32
        assert batch.labels.shape == batch.indices.shape == (10, 20) and batch.on == "train"
        assert batch.sizes.tolist() == [20] * 4 + [0] + [20] * 5
        assert (batch.labels[4] == -1).all() and (batch.indices[4] == -1).all() and (outputs[4] == 0).all()
        slopes = slopes_of_cross_entropy(outputs, batch)
        mine, rates = round.gradients(models, batch=batch, slopes=slopes)
        given, same_rates = round.gradients(models, batch=batch)
        assert bits(rates) == bits(same_rates) and rates[4] == 0 and (rates[:4] > 0).all()
        mine_, given_ = mine.numpy(), given.numpy()
        assert (mine_[4] == 0).all() and (given_[4] == 0).all()
        assert np.abs(mine_ - given_).max() < 1e-5 * np.abs(given_).max()
        found.append(np.abs(given_).max())
        # Both call it a step; losses and examples count once.
        round.record("steps", 2 * 9)
        models.add_scaled(mine, -rates)

    log = act(experiment, both, rounds=3, model=model)
    assert min(found) > 0
    assert log[-1]["local_steps"] == 3 * 18 and log[-1]["examples_seen"] == 3 * 9 * 20


def hidden_and_last(models: mf.Stack) -> tuple[Numbers, Numbers]:
    """Weight and bias of the last layer of an MLP with one hidden layer."""
    layers = models.by_layer()
    return np.array(layers["dense1.weight"]), np.array(layers["dense1.bias"])


def test_representations_are_what_the_last_layer_reads(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch(rows=np.arange(10) != 4)
        found = round.representations(models, batch)
        assert found.shape == (10, 20, 12) and found.dtype == np.float32 and (found[4] == 0).all()
        assert (found >= 0).all() and (found > 0).any()
        weight, bias = hidden_and_last(models)
        outputs = round.outputs(models, batch)
        alive = np.arange(10) != 4
        np.testing.assert_allclose((found @ weight + bias)[alive], outputs[alive], atol=1e-5)
        # Half of them are left out in a step, and none of chosen examples.
        whole = round.representations(models, round.examples(batch.indices))
        dropped = (found == 0) & (whole > 0)
        assert 0.2 < dropped[alive].sum() / (whole[alive] > 0).sum() < 0.4
        round.train(models, batch=batch)

    act(experiment, look, rounds=2, model={"mlp": {"hidden": [12], "dropout": 0.3}})


@pytest.mark.parametrize("keys", [{}, {"momentum": 0.9, "weight_decay": 0.01}, {"clip_norm": 0.5}])
def test_a_term_of_representations_is_added_to_the_loss(experiment: Experiment, keys: dict[str, Any]) -> None:
    """The mean of `|h|^2` of the hidden layer besides the cross-entropy, against the same by the gradient of its weights."""

    def by_slopes(models: mf.Stack, round: mf.Round) -> None:
        for _ in range(2):
            batch = round.batch()
            slopes = 0.6 * round.representations(models, batch) / np.maximum(batch.sizes, 1)[:, None, None]
            gradients, rates = round.gradients(models, batch=batch, representation_slopes=slopes, aside=True)
            if not keys:
                whole, _ = round.gradients(models, batch=batch, aside=True)
                h, x = round.representations(models, batch), batch.features
                by_hidden = np.swapaxes(x, 1, 2) @ (slopes * (h > 0))
                difference = np.array(gradients.by_layer()["dense0.weight"]) - np.array(whole.by_layer()["dense0.weight"])
                assert np.abs(difference - by_hidden).max() < 1e-5 * np.abs(by_hidden).max() + 1e-6
            round.train(models, batch=batch, representation_slopes=slopes)

    def by_outputs(models: mf.Stack, round: mf.Round) -> None:
        for _ in range(2):
            batch = round.batch()
            slopes = 0.6 * round.representations(models, batch) / np.maximum(batch.sizes, 1)[:, None, None]
            outer = slopes_of_cross_entropy(round.outputs(models, batch), batch)
            round.train(models, batch=batch, slopes=outer, representation_slopes=slopes)

    def without(models: mf.Stack, round: mf.Round) -> None:
        for _ in range(2):
            round.train(models, batch=round.batch())

    runs = [act(experiment, do, rounds=3, keys=keys, model={"mlp": {"hidden": [12]}}) for do in (by_slopes, by_outputs, without)]
    losses = [log[-1]["train_loss"] for log in runs]
    assert abs(losses[0] - losses[1]) < 1e-5 and abs(losses[0] - losses[2]) > 1e-4


@pytest.mark.parametrize("model", ["logistic", "own"])
def test_models_without_a_known_hidden_layer_have_no_representations(experiment: Experiment, model: str) -> None:
    refused = []

    def look(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch()
        with pytest.raises(ValueError, match="representations: a model of one.*, but it must be a built-in model with a hidden layer"):
            round.representations(models, batch)
        with pytest.raises(ValueError, match="train: found `representation_slopes` and a model that has no representations"):
            round.train(models, batch=batch, representation_slopes=np.zeros((10, 20, 784), np.float32))
        refused.append(round.number)
        round.train(models, batch=batch)

    mine = mlp("numpy", a_start()) if model == "own" else model
    act(experiment, look, rounds=1, model=mine)
    assert refused == [1]


@pytest.mark.parametrize("model", ["logistic", {"mlp": {"hidden": [12], "dropout": 0.3}}])
def test_losses_are_those_of_each_example(experiment: Experiment, model: Any) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        models.set(models.numpy() + 0.01 * np.arange(10, dtype=np.float32)[:, None])
        for batch in (round.batch(rows=np.arange(10) != 4), round.examples([[3, -1, 5]] * 10), round.examples([7, 8, 9])):
            losses = round.losses(models, batch)
            shares = softmax(round.outputs(models, batch))
            labels = np.broadcast_to(batch.labels, losses.shape)
            needed = np.where(labels < 0, 0, -np.log(np.take_along_axis(shares, np.maximum(labels, 0)[..., None], axis=2)[..., 0]))
            assert losses.dtype == np.float32 and losses.any()
            np.testing.assert_allclose(losses, needed, rtol=1e-5, atol=1e-6)
        batch = round.batch()
        mean = round.losses(models, batch).mean()
        round.gradients(models, batch=batch)
        round.record("mean", mean)

    log = act(experiment, look, model=model)
    assert log[-1]["train_loss"] == pytest.approx(log[-1]["own"]["mean"], rel=1e-5)


def test_outputs_and_losses_are_those_of_evaluations(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        for on in ("train", "local_test", "validation", "test"):
            batch = round.examples(on=on)
            shares = softmax(round.outputs(models, batch))
            labels = np.broadcast_to(batch.labels, shares.shape[:2])
            there = labels >= 0
            chosen = np.take_along_axis(shares, np.maximum(labels, 0)[..., None], axis=2)[..., 0]
            sizes = there.sum(axis=1)
            losses, accuracies = round.evaluate(models, on=on)
            assert np.where(there, -np.log(chosen), 0).sum(axis=1) / sizes == pytest.approx(losses, rel=1e-5, abs=1e-6), on
            right = (shares.argmax(axis=2) == labels) & there
            assert right.sum(axis=1) / sizes == pytest.approx(accuracies), on
            assert np.broadcast_to(batch.sizes, 10).tolist() == sizes.tolist()
            assert batch.on == ("train" if on == "local_test" else on)
            if on == "train":
                assert sizes.tolist() == round.shard_sizes.tolist()
                counts = np.stack([np.bincount(row[row >= 0], minlength=10) for row in batch.labels])
                assert (counts == round.label_counts).all()

    dataset = {"glyphs": {"train": 600, "test": 100, "validation": 60}}
    log = act(experiment, look, rounds=2, dataset=dataset, evaluate={"local_test": 0.2})
    # Looking counts nowhere.
    plain = act(experiment, lambda models, round: round.train(models), rounds=2, dataset=dataset, evaluate={"local_test": 0.2})
    assert log == plain


def test_batches_have_the_numbers_that_models_are_given(experiment: Experiment) -> None:
    draws = np.random.default_rng(4)
    x = draws.random((60, 2, 3, 3), np.float32)
    y = np.arange(60) % 4

    def look(models: mf.Stack, round: mf.Round) -> None:
        weight, bias = (layer[1] for layer in sorted(models.by_layer().items(), key=lambda layer: layer[0] != "dense.weight"))
        for batch in (round.batch(rows=np.arange(10) > 0), round.examples([[5, 3]] + [[1]] * 9), round.examples([4, 0], on="test")):
            features = batch.features
            there = batch.indices >= 0
            of = x[:30] if batch.on == "test" else x
            assert features.shape == (*batch.indices.shape, 18) and features.dtype == np.float32
            assert (features[there] == of[batch.indices[there]].reshape(-1, 18)).all() and (features[~there] == 0).all()
            outputs = features @ weight + bias.reshape(10, 1, 4)
            assert np.allclose(round.outputs(models, batch)[np.broadcast_to(there, (10, there.shape[1]))],
                               outputs[np.broadcast_to(there, (10, there.shape[1]))], rtol=0, atol=1e-5)

    act(experiment, look, rounds=2, dataset=mf.dataset(x, y, x[:30], y[:30]), partition={"iid": {"clients": 10}}, start="independent")


def test_augmented_batches_have_the_numbers_of_what_models_see(experiment: Experiment) -> None:
    x = np.random.default_rng(4).random((60, 1, 4, 4), np.float32)
    y = np.arange(60) % 4
    flipped: list[bool] = []

    def look(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch()
        images = batch.features.reshape(10, -1, 4, 4)
        for image, index in zip(images.reshape(-1, 4, 4), batch.indices.ravel(), strict=True):
            is_flipped = not (image == x[index, 0]).all()
            flipped.append(is_flipped)
            assert (image == (x[index, 0, :, ::-1] if is_flipped else x[index, 0])).all()
        assert (round.examples(batch.indices).features.reshape(10, -1, 4, 4) == x[batch.indices, 0]).all()

    act(experiment, look, rounds=4, dataset=mf.dataset(x, y, x[:30], y[:30]), partition={"iid": {"clients": 10}}, augment={"horizontal_flip": True})
    assert 0.3 < np.mean(flipped) < 0.7


def test_examples_are_chosen_by_their_indices(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        shards = round.examples()
        outputs = round.outputs(models, shards)
        # A row of lists, of an array with -1, and of lists of any length.
        picks = [[0, 5, 5], [], [59]] + [[3, 1]] * 7
        lists = [shards.indices[row][pick] for row, pick in enumerate(picks)]
        array = np.full((10, 3), -1)
        for row, list_ in enumerate(lists):
            array[row, : len(list_)] = list_
        for given in (lists, [list_.tolist() for list_ in lists], array):
            batch = round.examples(given)
            assert batch.sizes.tolist() == [len(pick) for pick in picks] and batch.indices.tolist() == array.tolist()
            some = round.outputs(models, batch)
            for row, pick in enumerate(picks):
                assert np.allclose(some[row, : len(pick)], outputs[row][pick], rtol=0, atol=1e-5)
                assert batch.labels[row, : len(pick)].tolist() == shards.labels[row][pick].tolist()
        # One list for all rows, of as many models as there are.
        one = round.examples([7, 3], on="test")
        assert one.indices.tolist() == [[7, 3]] and one.labels.shape == (1, 2) and one.sizes.tolist() == [2]
        two = round.outputs(models.gather([4, 4, 2]), one)
        assert two.shape == (3, 2, 10) and bits(two[0]) == bits(two[1]) and bits(two[0]) != bits(two[2])
        # Those of other clients.
        others = round.examples(clients=[3, 3])
        assert others.indices.tolist() == shards.indices[[3, 3]].tolist()
        assert round.examples(np.empty((10, 0), int)).sizes.tolist() == [0] * 10

    act(experiment, look, rounds=2, start="independent")


def test_gradients_on_chosen_examples_are_local_steps(experiment: Experiment) -> None:
    """Half the examples of each client, those of most loss: the gradient is that of evaluations, by differences."""

    def hard(models: mf.Stack, round: mf.Round) -> None:
        shards = round.examples()
        shares = softmax(round.outputs(models, shards))
        losses = -np.log(np.take_along_axis(shares, shards.labels[..., None], axis=2)[..., 0])
        hardest = np.take_along_axis(shards.indices, losses.argsort(axis=1)[:, 30:], axis=1)
        batch = round.examples(hardest)
        gradients, rates = round.gradients(models, batch=batch)
        expected = np.float32(0.05 if round.number <= 2 else 0.025)
        assert rates.tolist() == [expected] * 10

        def loss_at(moved: mf.Stack) -> NDArray[Any]:
            shares = softmax(round.outputs(moved, batch))
            return np.asarray(-np.log(np.take_along_axis(shares, batch.labels[..., None], axis=2)).mean(axis=(1, 2)))

        step = np.float32(1e-2) / gradients.norms().astype(np.float32)
        up, down = models.copy(), models.copy()
        up.add_scaled(gradients, step)
        down.add_scaled(gradients, -step)
        found = (loss_at(up) - loss_at(down)) / (2 * step)
        assert found == pytest.approx(gradients.norms() ** 2, rel=2e-2, abs=1e-4)
        models.add_scaled(gradients, -rates)

    schedule = {"step": {"initial": 0.05, "factor": 0.5, "every": 2, "per": "step"}}
    log = act(experiment, hard, rounds=4, keys={"learning_rate": schedule})
    assert log[-1]["local_steps"] == 40 and log[-1]["examples_seen"] == 4 * 10 * 30


def test_steps_on_shared_examples_are_those_of_the_clients_that_take_part(experiment: Experiment) -> None:
    def distil(models: mf.Stack, round: mf.Round) -> None:
        public = round.examples(on="validation")
        outputs = round.outputs(models, public)
        target = softmax(outputs).mean(axis=0)
        slopes = (softmax(outputs) - target) / outputs.shape[1]
        gradients, rates = round.gradients(models, batch=public, slopes=slopes)
        assert ((gradients.norms() > 0) == round.alive).all() and ((rates > 0) == round.alive).all()
        models.add_scaled(gradients, -rates)
        taking_part.append(int(round.alive.sum()))

    taking_part: list[int] = []
    dataset = {"glyphs": {"train": 600, "test": 100, "validation": 60}}
    failures = [{"clients": {"share": 0.4}, "redraw": "each_round"}]
    keys = {"failures": failures, "start": "independent", "dataset": dataset}
    log = act(experiment, distil, rounds=10, keys={"learning_rate": 0.05}, **keys)
    alive = sum(taking_part)
    assert 0 < alive < 100 and log[-1]["local_steps"] == alive and log[-1]["examples_seen"] == 60 * alive
    assert log[-1]["consensus_distance"] < 0.995 * log[0]["consensus_distance"]


def test_next_token_models_have_outputs_of_each_position(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch()
        outputs = round.outputs(models, batch)
        rows, examples, positions, tokens = outputs.shape
        assert batch.labels.shape == (rows, examples, positions) and positions > 1
        slopes = np.zeros_like(outputs)
        there = np.nonzero(batch.labels >= 0)
        one_hot = np.eye(tokens)[batch.labels[there]]
        sizes = batch.sizes[there[0]][:, None] * positions
        slopes[there] = (softmax(outputs[there]) - one_hot) / sizes
        mine, _ = round.gradients(models, batch=batch, slopes=slopes)
        given, _ = round.gradients(models, batch=batch)
        assert np.abs(mine.numpy() - given.numpy()).max() < 1e-5 * np.abs(given.numpy()).max()
        models.add_scaled(given, -0.5)

    data = os.environ.get("MESHFOLD_DATA")
    if data is None or not (Path(data) / "shakespeare" / "tinyshakespeare_input.txt").exists():
        if os.environ.get("MESHFOLD_CI"):
            pytest.fail("MESHFOLD_DATA has no tiny Shakespeare")
        pytest.skip("there is no tiny Shakespeare in MESHFOLD_DATA")
    configured = {
        "dataset": {"shakespeare": {"source": "tiny", "window": 6}},
        "model": {"char_lstm": {"embedding": 4, "hidden": 8}},
        "partition": {"by_role": {"clients": 10}},
    }
    act(experiment, look, rounds=2, **configured)


def a_start(hidden: int = 6) -> dict[str, Numbers]:
    draws = np.random.default_rng(3)
    shapes = {"w1": (784, hidden), "b1": (hidden,), "w2": (hidden, 10), "b2": (10,)}
    return {name: (0.1 * draws.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def test_a_model_of_ones_own_is_called_piece_by_piece(experiment: Experiment) -> None:
    def both(models: mf.Stack, round: mf.Round) -> None:
        shards = round.examples()
        assert shards.sizes.tolist() == [2500, 2500]
        outputs = round.outputs(models, shards)
        mine, _ = round.gradients(models, batch=shards, slopes=slopes_of_cross_entropy(outputs, shards))
        given, _ = round.gradients(models, batch=shards)
        assert np.abs(mine.numpy() - given.numpy()).max() < 1e-5 * np.abs(given.numpy()).max()

    dataset = {"glyphs": {"train": 5000, "test": 100}}
    two: Experiment = {"partition": {"iid": {"clients": 2}}, "topology": "complete"}
    log = act(experiment, both, dataset=dataset, model=mlp("numpy", a_start()), sweep=None, **two)
    assert log[-1]["local_steps"] == 4 and log[-1]["examples_seen"] == 5000


def test_pytorch_has_slopes_of_any_loss(experiment: Experiment) -> None:
    needs("torch")
    import torch

    def slopes_of(loss: Any, outputs: Any) -> Any:
        outputs = torch.tensor(outputs, requires_grad=True)
        loss(outputs).sum().backward()
        return outputs.grad

    def both(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch()
        outputs = round.outputs(models, batch)
        labels = torch.tensor(batch.labels)

        def loss(outputs: Any) -> Any:
            losses = torch.nn.functional.cross_entropy(outputs.flatten(0, 1), labels.flatten(), reduction="none")
            return losses.view_as(labels).mean(dim=1)

        mine, _ = round.gradients(models, batch=batch, slopes=slopes_of(loss, outputs))
        given, _ = round.gradients(models, batch=batch, slopes=slopes_of_cross_entropy(outputs, batch))
        assert np.allclose(mine.numpy(), given.numpy(), rtol=0, atol=1e-6)

    act(experiment, both)


@pytest.mark.parametrize("kind", [*MLPS, "numpy without"])
def test_models_of_ones_own_take_slopes_if_they_have_a_backward_pass(experiment: Experiment, kind: str) -> None:
    def both(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch()
        outputs = round.outputs(models, batch)
        assert outputs.shape == (10, 20, 10)
        given, _ = round.gradients(models, batch=batch)
        mine, rates = round.gradients(models, batch=batch, slopes=slopes_of_cross_entropy(outputs, batch))
        assert np.abs(mine.numpy() - given.numpy()).max() < 1e-5 * np.abs(given.numpy()).max()
        models.add_scaled(mine, -rates)

    start = a_start()
    if kind == "numpy without":
        with pytest.raises(mf.RunFailed, match="pull_back"):
            act(experiment, both, model=mf.model(start, outputs, gradients))
        return
    log = act(experiment, both, rounds=3, model=mlp(kind, start))
    assert log[-1]["local_steps"] == 60 and log[-1]["examples_seen"] == 600
    assert log[-1]["train_loss"] < log[1]["train_loss"]


@pytest.mark.parametrize("keys", [{}, {"batch_size": 7, "momentum": 0.9}, {"weight_decay": 0.1, "clip_norm": 0.2}])
def test_steps_on_the_next_batch_are_those_of_training(experiment: Experiment, keys: dict[str, Any]) -> None:
    def plain(models: mf.Stack, round: mf.Round) -> None:
        round.train(models, steps=1)

    def drawn(models: mf.Stack, round: mf.Round) -> None:
        round.train(models, batch=round.batch())

    failures = [{"clients": {"share": 0.3}, "redraw": "each_round"}]
    keys = {**keys, "learning_rate": {"step": {"initial": 0.5, "factor": 0.5, "every": 4}}}
    assert act(experiment, drawn, rounds=12, keys=keys, failures=failures) == act(experiment, plain, rounds=12, keys=keys, failures=failures)


@pytest.mark.parametrize("kind", ["built-in", *MLPS])
def test_steps_along_slopes_are_those_of_their_gradients(experiment: Experiment, kind: str) -> None:
    def both(models: mf.Stack, round: mf.Round) -> None:
        velocity, correction = 0.01 * models.copy(), 0.02 * models.copy()
        batch = round.batch(rows=np.arange(10) != 3)
        slopes = slopes_of_cross_entropy(round.outputs(models, batch), batch)
        gradients, rates = round.gradients(models, batch=batch, slopes=slopes)
        moves = (np.arange(10) != 3).astype(np.float32)
        after = velocity * (0.9 * moves + (1 - moves)) + (gradients + correction) * moves
        needed = models.copy()
        needed.add_scaled(after, -rates)
        round.train(models, batch=batch, slopes=slopes, velocity=velocity, correction=correction)
        assert np.allclose(models.numpy(), needed.numpy(), rtol=0, atol=1e-6)
        assert np.allclose(velocity.numpy(), after.numpy(), rtol=0, atol=1e-6)

    model = "logistic" if kind == "built-in" else mlp(kind, a_start())
    log = act(experiment, both, rounds=2, model=model, keys={"momentum": 0.9, "weight_decay": 0.01})
    assert log[-1]["local_steps"] == 2 * 18 and log[-1]["examples_seen"] == 2 * 9 * 20


def test_the_losses_and_examples_of_a_row_count_once(experiment: Experiment) -> None:
    def halves(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch()
        even = np.arange(10) % 2 == 0
        round.gradients(models, batch=batch, rows=np.zeros(10, bool))
        first, rates = round.gradients(models, batch=batch, rows=even)
        second, others = round.gradients(models, batch=batch, rows=~even)
        assert ((rates > 0) == even).all() and ((others > 0) == ~even).all()
        if round.number % 2:
            whole, again = round.gradients(models, batch=batch)
            assert bits(again) == bits(rates + others) and bits(whole.numpy()) == bits((first + second).numpy())
        models.add_scaled(first + second, -(rates + others))

    def plain(models: mf.Stack, round: mf.Round) -> None:
        gradients, rates = round.gradients(models)
        models.add_scaled(gradients, -rates)

    keys = {"batch_size": 7, "learning_rate": {"step": {"initial": 0.5, "factor": 0.5, "every": 2, "per": "step"}}}
    one, two = act(experiment, plain, rounds=4, keys=keys), act(experiment, halves, rounds=4, keys=keys)
    for once, twice in zip(one, two, strict=True):
        for key in ("test_accuracy", "train_loss", "examples_seen"):
            assert once[key] == twice[key], key
    assert (one[-1]["local_steps"], two[-1]["local_steps"]) == (40, 60)


def test_the_learning_rate_of_chosen_examples_is_that_of_their_first_step(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        batch = round.examples([0, 1, 2])
        found = [round.gradients(models, batch=batch)[1][0] for _ in range(3)]
        aside = round.gradients(models, batch=round.examples([5]), aside=True)[1][0]
        assert found == [np.float32(0.5 ** round.number)] * 3 and aside == np.float32(0.5 ** (round.number + 1))

    keys = {"learning_rate": {"step": {"initial": 0.5, "factor": 0.5, "every": 1, "per": "step"}}}
    log = act(experiment, look, rounds=3, keys=keys)
    assert log[-1]["local_steps"] == 90 and log[-1]["examples_seen"] == 90


@pytest.mark.parametrize("trains", [False, True])
def test_a_batch_has_its_own_rate_where_the_next_one_is_zero(experiment: Experiment, trains: bool) -> None:
    def last(models: mf.Stack, round: mf.Round) -> None:
        before = models.numpy().copy()
        batch = round.batch()
        assert (round.learning_rates == 0).all()
        if trains:
            round.train(models, batch=batch)
        else:
            gradients, rates = round.gradients(models, batch=batch)
            assert (rates > 0).all()
            models.add_scaled(gradients, -rates)
        assert (models.numpy() != before).any(axis=1).all()

    act(experiment, last, keys={"learning_rate": {"cosine": {"initial": 0.1, "last": 0.0, "length": 1, "per": "step"}}})


def test_gradients_aside_count_nowhere(experiment: Experiment) -> None:
    def plain(models: mf.Stack, round: mf.Round) -> None:
        gradients, rates = round.gradients(models)
        models.add_scaled(gradients, -rates)

    def looking(models: mf.Stack, round: mf.Round) -> None:
        round.gradients(models, batch=round.examples(), aside=True)
        batch = round.batch()
        looked, rates = round.gradients(models, batch=batch, aside=True)
        gradients, same = round.gradients(models, batch=batch)
        assert bits(looked.numpy()) == bits(gradients.numpy()) and bits(rates) == bits(same)
        models.add_scaled(gradients, -rates)

    seconds = {"network": {"links": {"fixed": {"bytes_per_second": 1e6}}, "compute": {"seconds_per_step": 0.5}}}
    assert act(experiment, looking, rounds=3, **seconds) == act(experiment, plain, rounds=3, **seconds)


def test_gradients_on_what_a_client_does_not_hold_are_told(experiment: Experiment) -> None:
    def told_of(do: Act, **more: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            act(experiment, do, **more)
        return [str(warning.message) for warning in caught]

    def others(models: mf.Stack, round: mf.Round) -> None:
        places = np.arange(10).reshape(10, 1)
        round.gradients(models, batch=round.examples(places))

    def own(models: mf.Stack, round: mf.Round) -> None:
        round.gradients(models, batch=round.examples(round.examples().indices[:, :5]))
        round.outputs(models, round.examples([0, 1], on="test"))

    def visits(models: mf.Stack, round: mf.Round) -> None:
        round.gradients(models, batch=round.examples(clients=np.roll(np.arange(10), 1)))

    def tests(models: mf.Stack, round: mf.Round) -> None:
        round.gradients(models, batch=round.examples(on="local_test" if round.number == 1 else "test"))

    def neighbours(models: mf.Stack, round: mf.Round) -> None:
        round.outputs(models.gather(np.roll(np.arange(10), 1)), round.batch())

    (words,) = told_of(others)
    assert words.startswith("the method `acting` takes gradients of a client on training examples that another one holds: ")
    assert told_of(own) == told_of(visits) == []
    for rounds in (1, 2):
        (words,) = told_of(tests, rounds=rounds, evaluate={"local_test": 0.2})
        assert "takes gradients on test examples" in words
    words = "\n".join(told_of(neighbours))
    assert "takes outputs of other models than those of the clients and never calls round.send: its messages and bytes are 0" in words


def test_gaps_in_indices_stay_where_they_are(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        drawn = round.batch()
        keep = np.random.default_rng(round.number).random(drawn.indices.shape) < 0.4
        given = np.where(keep, drawn.indices, -1)
        batch = round.examples(given)
        assert (batch.indices == given).all() and (batch.sizes == keep.sum(axis=1)).all()
        assert (batch.labels == np.where(keep, drawn.labels, -1)).all()
        assert (batch.features == np.where(keep[..., None], drawn.features, 0)).all()
        outputs = round.outputs(models, batch)
        assert np.allclose(outputs, np.where(keep[..., None], round.outputs(models, drawn), 0), rtol=0, atol=1e-5)
        slopes = np.where(keep[..., None], slopes_of_cross_entropy(outputs, batch), np.nan)
        mine, _ = round.gradients(models, batch=batch, slopes=slopes)
        given_, _ = round.gradients(models, batch=round.examples([row[row >= 0] for row in given]))
        assert np.allclose(mine.numpy(), given_.numpy(), rtol=0, atol=1e-5)
        # One list for all rows.
        one = round.examples([3, -1, 5, -1])
        assert one.indices.tolist() == [[3, -1, 5, -1]] and one.sizes.tolist() == [2]
        assert (round.outputs(models, one)[:, [1, 3]] == 0).all()

    act(experiment, look, rounds=2)


def test_arrays_of_a_batch_cannot_be_written_to(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        batch = round.batch()
        for array in (batch.indices, batch.labels, batch.features, batch.sizes):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0

    act(experiment, look)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "another round": (lambda m, r, old: r.outputs(m, old), RuntimeError, "outputs: the batch is of round 1: make one in each round"),
    "another object": (lambda m, r, old: r.outputs(m, [1]), TypeError, "outputs: `batch` is of type list, needed a `meshfold.Batch`"),
    "rows": (lambda m, r, old: r.outputs(m, r.batch(clients=[1, 2])), ValueError, "outputs: the batch is for 2 rows, and the stack has 10"),
    "slopes alone": (lambda m, r, old: r.gradients(m, slopes=np.zeros(3)), ValueError, "found `slopes` and no `batch`"),
    "slopes by representations alone": (
        lambda m, r, old: r.gradients(m, representation_slopes=np.zeros(3)),
        ValueError,
        r"gradients: found `representation_slopes` and no `batch`, .* `round.representations\(models, batch\)`",
    ),
    "same batches": (lambda m, r, old: r.gradients(m, batch=r.batch(), same_batches=True), ValueError, "a batch can be used again as it is"),
    "shape of slopes": (
        lambda m, r, old: r.gradients(m, batch=r.batch(), slopes=np.zeros((10, 20), np.float32)),
        ValueError,
        r"gradients: `slopes` is of shape \[10, 20\], needed \[10, 20, 10\]",
    ),
    "type of slopes": (
        lambda m, r, old: r.gradients(m, batch=r.batch(), slopes={}),
        ValueError,
        r"gradients: `slopes` is of type dict, needed an array \[10, 20, 10\]",
    ),
    "slopes that are not finite": (
        lambda m, r, old: r.gradients(m, batch=r.batch(), slopes=np.full((10, 20, 10), np.nan, np.float32)),
        ValueError,
        r"gradients: `slopes` has NaN at \[0, 0\], needed finite numbers",
    ),
    "train with steps": (lambda m, r, old: r.train(m, batch=r.batch(), steps=2), ValueError, "train: found `batch` with `steps`"),
    "train aside": (lambda m, r, old: r.train(m, batch=r.batch(), aside=True), ValueError, "train: found `batch` with `aside=True`"),
    "train with slopes alone": (lambda m, r, old: r.train(m, slopes=np.zeros(3)), ValueError, "train: found `slopes` and no `batch`"),
    "train on an old batch": (lambda m, r, old: r.train(m, batch=old), RuntimeError, "train: the batch is of round 1"),
    "slopes of train": (
        lambda m, r, old: r.train(m, batch=r.batch(), slopes=np.zeros((10, 20), np.float32)),
        ValueError,
        r"train: `slopes` is of shape \[10, 20\]",
    ),
    "aside without a batch": (lambda m, r, old: r.gradients(m, aside=True), ValueError, "found `aside=True` and no `batch`"),
    "rows before clients": (
        lambda m, r, old: r.gradients(m.gather([0] * 20), batch=r.batch()),
        ValueError,
        "gradients: the batch is for 10 rows, and the stack has 20",
    ),
    "clients twice": (
        lambda m, r, old: r.gradients(m, batch=r.batch(clients=range(10)), clients=range(10)),
        ValueError,
        "found `clients` with a batch that says whose rows these are",
    ),
    "no such example": (lambda m, r, old: r.examples([3, 600]), ValueError, "examples: `indices` has the example 600, needed 0 to 599"),
    "no such example of a row": (lambda m, r, old: r.examples([[0], [3, -2]]), ValueError, "`indices` of row 1 has the example -2"),
    "no indices": (lambda m, r, old: r.examples([0.5]), TypeError, r"examples: `indices` is of shape \[1\] and type float64"),
    "no such set": (lambda m, r, old: r.examples(on="tests"), ValueError, "examples: `on` is `tests`"),
    "no validation": (lambda m, r, old: r.examples(on="validation"), ValueError, "keep some apart by `validation` in the dataset"),
    "no local tests": (lambda m, r, old: r.examples(on="local_test"), ValueError, "the clients have no local test sets"),
    "part of local tests": (lambda m, r, old: r.examples([0], on="local_test"), ValueError, "a local test set is taken whole"),
    "as many clients": (lambda m, r, old: r.examples([[0], [1]], clients=[0, 1, 2]), ValueError, "`clients` for 3 rows and `indices` for 2"),
    "whose steps": (lambda m, r, old: r.gradients(m.gather([0]), batch=r.examples([0])), ValueError, "say by `clients` whose examples"),
    "batches taken again": (lambda m, r, old: (r.batch(), r.gradients(m, same_batches=True)), RuntimeError, "After round.batch, give the batch again: `batch=`"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(experiment: Experiment, case: str) -> None:
    call, kind, words = REFUSED[case]
    batches: list[mf.Batch] = []
    refused: list[int] = []

    def wrong(models: mf.Stack, round: mf.Round) -> None:
        batches.append(round.batch())
        if round.number == 2:
            with pytest.raises(kind, match=words):
                call(models, round, batches[0])
            refused.append(round.number)
            # What is refused counts nowhere.
        round.gradients(models, batch=batches[-1])

    log = act(experiment, wrong, rounds=2)
    assert refused == [2] and log[-1]["local_steps"] == 20


class Calibrated(mf.Method):
    """FedLC (Zhang et al., 2022, (7)) over neighbours: logits are lowered where a client has few examples of a class."""

    tau: float = 1.0

    def start(self, models: mf.Stack) -> None:
        self.velocity = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        lowered = self.tau * np.maximum(round.label_counts, 1e-6)[:, None, :] ** -0.25
        for _ in range(3):
            batch = round.batch()
            outputs = round.outputs(models, batch)
            slopes = slopes_of_cross_entropy((outputs - lowered).astype(np.float32), batch)
            round.train(models, batch=batch, slopes=slopes, velocity=self.velocity)
        round.send(models)
        models.mix(round.mixing)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_with_a_loss_of_its_own_goes_on_with_the_same_bits(experiment: Experiment, threads: int) -> None:
    long = {**with_algorithm(experiment, "calibrated", batch_size=7, momentum=0.5), "rounds": 20, "checkpoint": {"every": 5}}
    with pytest.raises(Halt):
        mf.run(long, progress=False, callbacks=[halt_at(10)], threads=threads)
    (parts,) = mf.run(long, progress=False)
    (whole,) = mf.run(long, progress=False, results="whole")
    assert records(parts.folder) == records(whole.folder)
    assert records(whole.folder)[-1]["test_accuracy"]["mean"] > 0.5


def test_rows_of_walkers_see_the_examples_of_the_clients_that_they_visit(experiment: Experiment) -> None:
    order = [3, 1, 4, 1]

    def walk(models: mf.Stack, round: mf.Round) -> None:
        walkers = models.gather(order)
        batch = round.batch(clients=order)
        shards = round.examples().indices
        for row, client in enumerate(order):
            assert set(batch.indices[row]) <= set(shards[client])
        gradients, rates = round.gradients(walkers, batch=batch)
        assert len(gradients) == 4 and (rates > 0).all()

    log = act(experiment, walk, rounds=2)
    assert log[-1]["local_steps"] == 8


@pytest.mark.parametrize("start", ["independent", "same"])
def test_several_models_of_each_client_are_rows_of_one_stack(experiment: Experiment, start: str) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        same = np.asarray(models.gather(np.repeat(np.arange(3), 10))).reshape(3, 10, -1)
        own = np.asarray(models.gather(np.tile(np.arange(10), 3))).reshape(3, 10, -1)
        assert (same == same[:, :1]).all() and (own == own[:1]).all()
        assert len(np.unique(same[:, 0], axis=0)) == (3 if start == "independent" else 1)
        assert len(np.unique(own[0], axis=0)) == (10 if start == "independent" else 1)

    act(experiment, look, start=start)


def test_models_of_one_client_take_steps_on_one_batch(experiment: Experiment) -> None:
    clients = np.tile(np.arange(10), 3)

    def look(models: mf.Stack, round: mf.Round) -> None:
        drawn = round.batch(clients=clients).indices
        assert not (drawn[:10] == drawn[10:20]).all()
        every = models.gather(np.repeat(np.arange(3), 10))
        batch = round.batch()
        for model in range(3):
            rows = np.arange(10) + 10 * model
            some = every.gather(rows)
            gradients, _ = round.gradients(some, batch=batch, aside=True)
            expected = some.copy().add_scaled(gradients, -np.asarray(batch.learning_rates))
            round.train(some, batch=batch)
            np.testing.assert_allclose(some.numpy(), expected.numpy(), atol=1e-6)
            every.scatter(rows, some)
        assert (np.asarray(batch.learning_rates) / round.learning_rates == 2).all()

    keys = {"learning_rate": {"step": {"initial": 0.5, "factor": 0.5, "every": 1, "per": "step"}}}
    log = act(experiment, look, start="independent", keys=keys)
    assert log[-1]["local_steps"] == 30 and log[-1]["examples_seen"] == 200


def test_rates_by_steps_follow_batches_and_not_counts(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        rates = [round.learning_rates[0]]
        round.count(steps=3)
        rates.append(round.learning_rates[0])
        round.batch()
        rates.append(round.learning_rates[0])
        round.train(models, steps=2)
        rates.append(round.learning_rates[0])
        assert rates == [0.5, 0.5, 0.25, 0.0625]

    act(experiment, look, keys={"learning_rate": {"step": {"initial": 0.5, "factor": 0.5, "every": 1, "per": "step"}}})


def test_features_are_made_anew_and_shards_may_be_gone_through_in_parts(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        batch = round.examples()
        assert batch.features is not batch.features and not np.shares_memory(batch.features, batch.features)
        indices = batch.indices
        assert (indices == -1).any()
        parts = [round.outputs(models, round.examples(indices[:, first : first + 30])) for first in range(0, indices.shape[1], 30)]
        np.testing.assert_allclose(np.concatenate(parts, axis=1), round.outputs(models, batch), atol=1e-5)

    act(experiment, look, partition={"dirichlet": {"clients": 10, "alpha": 0.5}})


@pytest.mark.parametrize("on_a_batch", [False, True])
def test_the_norm_that_is_limited_is_that_of_the_loss_alone(experiment: Experiment, on_a_batch: bool) -> None:
    def moved(models: mf.Stack, round: mf.Round, **more: Any) -> NDArray[np.float64]:
        after = models.copy()
        if on_a_batch:
            more["batch"] = round.batch()
        else:
            more["steps"] = 1
        round.train(after, **more)
        return np.asarray((np.asarray(models, float) - np.asarray(after)) / 0.1)

    def look(models: mf.Stack, round: mf.Round) -> None:
        far, large = models.zeros_like(), models.zeros_like()
        far.set(np.asarray(models) - 2)
        large.set(np.full(models.shape, 3.0, np.float32))
        decay = 0.5 * np.asarray(models, float)
        for more, expected in (({}, 0), ({"correction": large}, 3), ({"anchor": far, "mu": 1.0}, 2)):
            rest = moved(models, round, **more) - decay - expected
            np.testing.assert_allclose(rest, 0, atol=0.011)
            assert np.linalg.norm(rest, axis=1).max() < 0.015

    act(experiment, look, keys={"clip_norm": 0.01, "weight_decay": 0.5, "learning_rate": 0.1})
