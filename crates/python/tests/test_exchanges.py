"""What methods in Python exchange, and with whom: weights and messages of their own, compression, rows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from acting import ACTS, Act, Experiment, act, bits
from numpy.typing import NDArray
from test_own_methods import records_of, sent, warned, with_algorithm

import meshfold as mf


def test_some_layers_are_mixed_and_sent(experiment: Experiment) -> None:
    """Logistic regression has weights and biases: 784 x 10 and 10."""
    weight, bias = "dense0.weight", "dense0.bias"

    def share(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        before, whole = models.by_layer(), models.copy().mix(round.mixing).by_layer()
        for layers in ([bias], [weight], [weight, bias], []):
            after = models.copy().mix(round.mixing, layers=layers).by_layer()
            for name in (weight, bias):
                assert bits(after[name]) == bits((whole if name in layers else before)[name]), (layers, name)
        for stack in (models, models.copy()):
            round.send(stack, layers=[bias])
        with pytest.raises(ValueError, match="mix: there is no layer `head`: there are `dense0.weight`, `dense0.bias`"):
            models.mix(round.mixing, layers=["head"])
        with pytest.raises(TypeError, match="mix: `layers` needs a list of names"):
            models.mix(round.mixing, layers=bias)
        for wrong, words in (
            ({"layers": [bias]}, "send: found `layers` with no stack that they are of"),
            ({"stack": models, "layers": [bias], "models": True}, "send: found `layers` with `models=True`"),
            ({"stack": models.copy().top_k(0.1), "layers": [bias]}, "needed the bytes of a message: `bytes=`"),
            ({"stack": models, "layers": ["head"]}, "send: there is no layer `head`"),
        ):
            with pytest.raises(ValueError, match=re.escape(words)):
                round.send(**wrong)
        models.mix(round.mixing, layers=[bias])

    log = act(experiment, share, rounds=2)
    # Two stacks in each of two rounds.
    assert log[-1]["bytes_total"] == log[-1]["messages_total"] * 4 * 10
    assert log[-1]["messages_total"] > 0


def test_a_matrix_of_ones_own_mixes_as_it_is(experiment: Experiment) -> None:
    sparse = pytest.importorskip("scipy.sparse")

    def look(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        weights = np.random.default_rng(2).standard_normal((10, 10))
        weights[weights < 0.5] = 0
        weights[4] = 0
        wanted = weights @ models.numpy().astype(float)
        dense = models.copy().mix(weights)
        assert np.allclose(dense.numpy(), wanted, atol=1e-5)
        for kind in (sparse.csr_matrix, sparse.coo_array, sparse.csc_array):
            assert bits(models.copy().mix(kind(weights)).numpy()) == bits(dense.numpy())
        assert bits(models.copy().mix(weights.astype(np.float32).tolist()).numpy()) == bits(dense.numpy())
        assert bits(models.copy().mix(np.eye(10, dtype=int)).numpy()) == bits(models.numpy())
        own = models.copy().mix(round.mixing.numpy())
        assert bits(own.numpy()) == bits(models.copy().mix(round.mixing).numpy())
        assert models.gather([0, 1]).mix([[0.5, 0.5], [0, 1]]).shape == (2, 7850)

    act(experiment, look, rounds=2)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.eye(9), "mix: found weights of shape (9, 9), needed (10, 10): a row and a column for each row of the stack"),
        (np.ones((10, 9)), "mix: found 10 rows and 9 columns, needed [R, R]"),
        (np.ones(10), "mix: found an array of shape (10,), needed [R, R]"),
        (np.diag([np.nan] * 10), "mix: row 0, column 0 is nan, needed finite numbers"),
        (np.eye(10, dtype=complex), "mix: the matrix is of type complex128, needed numbers"),
        ("ring", "mix: the matrix"),
        (None, "mix: the matrix"),
    ],
)
def test_weights_that_cannot_be_are_refused(experiment: Experiment, weights: Any, words: str) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        before = bits(models.numpy())
        with pytest.raises(ValueError, match=re.escape(words)):
            models.mix(weights)
        assert bits(models.numpy()) == before

    act(experiment, look)


def test_weights_that_concern_clients_that_take_no_part_are_told(experiment: Experiment) -> None:
    def mixes(make: Callable[[NDArray[Any], mf.Round], NDArray[Any]]) -> list[str]:
        def mix(models: mf.Stack, round: mf.Round) -> None:
            round.send(models)
            models.mix(make(round.alive, round))

        ACTS.append(mix)
        try:
            failing = {"failures": [{"clients": {"list": [3]}}], "rounds": 2}
            told = warned(with_algorithm(experiment, "acting"), **failing, name=f"failing-{len(ACTS)}-{id(make)}")
        finally:
            ACTS.pop()
        return [warning for warning in told if "of clients that take no part in a round" in warning]

    def masked(alive: NDArray[Any], round: mf.Round) -> NDArray[Any]:
        weights: NDArray[Any] = np.outer(alive, alive) / alive.sum()
        weights[~alive, ~alive] = 1
        return weights

    assert mixes(masked) == []
    assert mixes(lambda alive, round: round.mixing.numpy()) == []
    assert mixes(lambda alive, round: np.eye(10)) == []
    for wrong in (
        lambda alive, round: np.full((10, 10), 0.1),
        lambda alive, round: np.diag(alive.astype(float)),
        lambda alive, round: np.eye(10) + np.outer(alive, ~alive),
    ):
        (told,) = mixes(wrong)
        assert "give these clients rows and columns of the identity, by round.alive" in told


def test_the_links_of_a_round_can_be_sent_over(experiment: Experiment) -> None:
    seen = set()

    def send(models: mf.Stack, round: mf.Round) -> None:
        seen.add(round.directed)
        both = round.edges if round.directed else np.concatenate([round.edges, round.edges[:, ::-1]])
        round.send(models, edges=both)

    def built_in(models: mf.Stack, round: mf.Round) -> None:
        round.send(models)

    for more in (
        {"stragglers": {"share": 0.4, "policy": "receive"}},
        {"failures": [{"edges": {"share": 0.5}, "redraw": "each_round"}]},
        {"topology": "one_peer"},
    ):
        mine, theirs = (act(experiment, one, rounds=4, **more)[-1] for one in (send, built_in))
        for key in ("messages_total", "bytes_total", "bytes_busiest_node"):
            assert mine[key] == theirs[key], (more, key)
    assert seen == {True, False}


def test_a_stack_that_all_clients_send_has_a_row_for_each(experiment: Experiment) -> None:
    def send(models: mf.Stack, round: mf.Round) -> None:
        words = "send: the stack has 1 rows, but each of 10 clients sends one: name senders and receivers by `edges`"
        with pytest.raises(ValueError, match=words):
            round.send(models.mean())

    assert sent(experiment, send) == (0, 0, 0)


def test_messages_go_to_whomever_they_are_sent(experiment: Experiment) -> None:
    whole = 4 * 7850

    def over(edges: Any, **more: Any) -> Act:
        return lambda models, round: round.send(edges=edges, **more)

    # Client 5 is no neighbour of 0 on the ring.
    edges = [[0, 5], [0, 1], [5, 0]]
    assert sent(experiment, over(edges)) == (3, 3 * whole, 3 * whole)
    assert sent(experiment, over(edges, bytes=[1, 10, 100])) == (3, 111, 111)
    assert sent(experiment, over(edges, bytes=7)) == (3, 21, 21)
    assert sent(experiment, over(edges, bytes=[0, 10, 0])) == (1, 10, 10)
    assert sent(experiment, over(np.empty((0, 2), int))) == sent(experiment, over([])) == (0, 0, 0)

    def compressed(models: mf.Stack, round: mf.Round) -> None:
        round.send(models.copy().top_k(0.1), edges=np.array([[1, 9]], np.uint8))

    assert sent(experiment, compressed) == (1, 8 * 785, 8 * 785)


@pytest.mark.parametrize(
    ("edges", "error", "words"),
    [
        ([[0, 0]], ValueError, "send: an edge goes from client 0 to itself"),
        ([[0, 10]], ValueError, "send: `edges`: 0-10 names a client that does not exist: there are 0 to 9"),
        ([[-1, 3]], ValueError, "send: `edges`: -1-3 names a client that does not exist"),
        ([[0.0, 1.0]], ValueError, "send: `edges` is of shape [1, 2] and type float64, needed whole numbers [E, 2]"),
        ([0, 1], ValueError, "send: `edges` is of shape [2] and type int64, needed whole numbers [E, 2]"),
    ],
)
def test_edges_that_cannot_be_are_refused(experiment: Experiment, edges: Any, error: type[Exception], words: str) -> None:
    def send(models: mf.Stack, round: mf.Round) -> None:
        with pytest.raises(error, match=re.escape(words)):
            round.send(edges=edges)
        with pytest.raises(ValueError, match="`bytes` has 2 numbers, needed one for all edges, or one for each of 1"):
            round.send(edges=[[0, 1]], bytes=[1, 2])

    assert sent(experiment, send) == (0, 0, 0)


class Peers(mf.Method):
    """Sends over no overlay."""

    overlay = False

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        with pytest.raises(RuntimeError, match="name senders and receivers by `edges`"):
            round.send(models)
        round.send(models, edges=[[0, 9]])


def test_a_method_without_an_overlay_sends_from_client_to_client(experiment: Experiment) -> None:
    alone = {key: value for key, value in with_algorithm(experiment, "peers").items() if key != "topology"}
    last = records_of({**alone, "rounds": 2})[-1]
    assert (last["messages_total"], last["bytes_total"]) == (2, 2 * 4 * 7850)


def test_a_stack_takes_on_the_rows_of_another(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        doubled = 2.0 * models
        models.set(doubled)
        assert bits(models.numpy()) == bits(doubled.numpy())
        models.set(models)
        assert bits(models.numpy()) == bits(doubled.numpy())
        with pytest.raises(ValueError, match="set: the stack has 2 rows, needed 10"):
            models.set(models.gather([0, 1]))
        with pytest.raises(TypeError, match="gather: `rows` needs numbers of rows, such as"):
            models.gather(0)
        with pytest.raises(ValueError, match="gather: `rows` names row -1, which does not exist"):
            models.gather([-1])
        with pytest.raises(ValueError, match="scatter: `rows` names 2 rows, needed one for each of the 3 rows of `source`"):
            models.scatter([0, 0], models.gather([1, 2, 3]))
        with pytest.raises(TypeError, match=r"found an array of shape \[10, 1\], needed a number, or one for each of 10 rows"):
            models * np.ones((10, 1))

    act(experiment, look)


def test_what_editors_show_is_what_help_shows() -> None:
    for name in ("train", "gradients", "evaluate", "send", "quantize", "record"):
        assert "Raises:" in getattr(mf.Round, name).__doc__ or name == "train", name
    assert "added to every gradient, `[R, P]`" in str(mf.Round.train.__doc__)
    assert "Whether each of `edges` goes one way" in str(mf.Round.directed.__doc__)
    assert mf.Stack.__doc__ is not None and mf.Stack.__doc__.startswith("Rows of parameters, `[R, P]`, one for each client.")
    assert "scale=1.0" in str(inspect.signature(mf.Stack.add_scaled))


class Quantized(mf.Method):
    """DFedAvgM with quantised messages (Sun et al., 2021, Algorithm 2), as the built-in `dfedavgm`."""

    bits: int = 4
    norm: str = "model"

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        before = models.copy()
        round.train(models)
        step = round.quantize(models - before, self.bits, norm=self.norm)
        round.send(step)
        step += before
        models.scatter(range(round.clients), step.mix(round.mixing))


@pytest.mark.parametrize("norm", ["model", "layer"])
def test_quantised_messages_have_the_bits_of_the_built_in_ones(experiment: Experiment, norm: str) -> None:
    mine = with_algorithm(experiment, "quantized", norm=norm)
    built_in = with_algorithm(experiment, "dfedavgm", quantise={"bits": 4, "norm": norm}, momentum=0.0)
    assert records_of(mine) == records_of(built_in)


def test_each_stack_is_quantised_by_draws_of_its_own(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        exact = models.numpy().astype(float)
        norms = np.linalg.norm(exact, axis=1, keepdims=True)
        drawn = [round.quantize(models.copy(), 3).numpy() for _ in range(200)]
        assert len({bits(one) for one in drawn}) == 200
        levels = np.array(drawn, float) / (norms / 3)
        assert np.allclose(levels, np.rint(levels), atol=1e-4)
        # A level is a third of the norm: the mean of 200 draws has a deviation of at most norm / 6 / sqrt(200).
        assert np.abs(np.mean(drawn, axis=0) - exact).max() < 6 * norms.max() / 6 / np.sqrt(200)
        for made in (1, 25):
            with pytest.raises(ValueError, match=r"found \d+ bits, needed 2 to 24, one of them the sign"):
                round.quantize(models, made)
        with pytest.raises(ValueError, match="`norm` is `row`, needed `model` or `layer`"):
            round.quantize(models, 8, norm="row")

    act(experiment, look)
    kept = lambda models, round: round.send((2.0 * round.quantize(models, 4)).copy())  # noqa: E731
    assert sent(experiment, kept) == (20, 20 * (8 + 7850 // 2), 4 * (8 + 7850 // 2))


def test_rows_are_clipped_to_a_norm(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        before = models.copy()
        models *= np.arange(1, 11) / before.norms()
        short = models.copy().clip(4.0)
        assert np.allclose(short.norms(), np.minimum(np.arange(1, 11), 4.0))
        assert bits(short.numpy()[:4]) == bits(models.numpy()[:4])
        for radius in (0.0, -1.0, float("nan"), float("inf")):
            with pytest.raises(ValueError, match="clip: found a radius of"):
                models.clip(radius)

    act(experiment, look)
