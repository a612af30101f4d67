"""What a round offers methods in Python beyond local work and the mixing of its overlay."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Halt, halt_at
from numpy.typing import NDArray
from test_own_methods import records, records_of, sent, warned, with_algorithm

import meshfold as mf

Experiment = dict[str, Any]
Act = Callable[[mf.Stack, mf.Round], None]

#: What `Acting` does.
ACTS: list[Act] = []


class Acting(mf.Method):
    """Does what a test says."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        ACTS[-1](models, round)


def act(experiment: Experiment, do: Act, rounds: int = 1, **more: Any) -> list[dict[str, Any]]:
    """The records of a run whose rounds are `do`."""
    keys = more.pop("keys", {})
    ACTS.append(do)
    try:
        (run,) = mf.run({**with_algorithm(experiment, "acting", **keys), "rounds": rounds, **more}, progress=False, again=True)
    finally:
        ACTS.pop()
    return records(run.folder)


def bits(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array).tobytes()


# Mini-batches again.


@pytest.mark.parametrize("keys", [{}, {"batch_size": 7}, {"draw": "with_replacement"}, {"batch_size": "full"}])
def test_the_same_mini_batches_can_be_taken_again(experiment: Experiment, keys: dict[str, Any]) -> None:
    plain: list[bytes] = []
    again: list[bytes] = []

    def once(models: mf.Stack, round: mf.Round) -> None:
        gradients, rates = round.gradients(models)
        plain.append(bits(gradients.numpy()) + bits(rates))
        models.add_scaled(gradients, -rates)

    def twice(models: mf.Stack, round: mf.Round) -> None:
        gradients, rates = round.gradients(models)
        for _ in range(2):
            same, same_rates = round.gradients(models, same_batches=True)
            assert bits(same.numpy()) == bits(gradients.numpy()) and bits(same_rates) == bits(rates)
        again.append(bits(gradients.numpy()) + bits(rates))
        models.add_scaled(gradients, -rates)

    # Shards of 60: batches of 7 end a pass in the ninth round.
    schedule = {"step": {"initial": 0.5, "factor": 0.5, "every": 4}}
    keys = {**keys, "learning_rate": schedule}
    one = act(experiment, once, rounds=20, keys=keys)
    three = act(experiment, twice, rounds=20, keys=keys)
    assert plain == again and len(set(plain)) == 20
    for once_, thrice in zip(one, three, strict=True):
        for key in ("test_accuracy", "train_loss", "examples_seen"):
            assert once_[key] == thrice[key], key
    assert three[-1]["local_steps"] == 3 * one[-1]["local_steps"]


def test_there_must_be_mini_batches_to_take_again(experiment: Experiment) -> None:
    words = "there are no mini-batches to take again: call round.gradients in this round first, and after any round.train"

    def never(models: mf.Stack, round: mf.Round) -> None:
        # Nor are those of the round before.
        with pytest.raises(RuntimeError, match=words):
            round.gradients(models, same_batches=True)
        round.gradients(models)
        round.train(models)
        with pytest.raises(RuntimeError, match=words):
            round.gradients(models, same_batches=True)
        round.gradients(models)

    assert len(act(experiment, never, rounds=2)) == 2


class Storm(mf.Method):
    """GT-HSGD (Xin et al., 2021, Algorithm 1): gradient tracking with recursive gradients on one mini-batch at two models."""

    beta: float = 0.1

    def start(self, models: mf.Stack) -> None:
        self.before = models.copy()
        self.estimate = models.zeros_like()
        self.tracker = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        estimate, rates = round.gradients(models)
        if round.number > 1:
            earlier, _ = round.gradients(self.before, same_batches=True)
            estimate.add_scaled(self.estimate - earlier, 1 - self.beta)
        self.tracker += estimate - self.estimate
        self.estimate = estimate
        round.send(self.tracker)
        self.tracker.mix(round.mixing)
        self.before = models.copy()
        models.add_scaled(self.tracker, -rates)
        round.send(models)
        models.mix(round.mixing)


def test_recursive_gradients_on_whole_shards_are_gradients(experiment: Experiment) -> None:
    keys = {"batch_size": "full", "learning_rate": 0.5}
    storm = records_of(with_algorithm(experiment, "storm", **keys))
    plain = records_of(with_algorithm(experiment, "plain_tracking", **keys))
    assert storm[-1]["train_loss"] is not None
    for mine, other in zip(storm, plain, strict=True):
        assert mine["test_accuracy"]["mean"] == pytest.approx(other["test_accuracy"]["mean"], abs=0.005)
        assert mine["consensus_distance"] == pytest.approx(other["consensus_distance"], rel=1e-3)


class PlainTracking(mf.Method):
    """What `Storm` is on whole shards: the recursion leaves the gradients themselves."""

    def start(self, models: mf.Stack) -> None:
        self.gradient = models.zeros_like()
        self.tracker = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        gradient, rates = round.gradients(models)
        self.tracker += gradient - self.gradient
        self.gradient = gradient
        round.send(self.tracker)
        self.tracker.mix(round.mixing)
        models.add_scaled(self.tracker, -rates)
        models.mix(round.mixing)


def test_a_run_with_mini_batches_taken_again_goes_on_with_the_same_bits(experiment: Experiment) -> None:
    long = {**with_algorithm(experiment, "storm", batch_size=7), "rounds": 20, "checkpoint": {"every": 5}}
    with pytest.raises(Halt):
        mf.run(long, progress=False, callbacks=[halt_at(10)])
    (parts,) = mf.run(long, progress=False)
    (whole,) = mf.run(long, progress=False, results="whole")
    assert records(parts.folder) == records(whole.folder)


# Rows, and whose examples they see.


def test_rows_train_for_as_many_steps_as_they_are_told(experiment: Experiment) -> None:
    def three(models: mf.Stack, round: mf.Round) -> None:
        round.train(models, steps=3 if round.number % 2 else [3] * 10)
        round.send(models)
        models.mix(round.mixing)

    mine = act(experiment, three, rounds=4, keys={"momentum": 0.9})
    built_in = with_algorithm(experiment, "dfedavgm", local={"steps": 3}, momentum=0.9)
    assert mine == records_of({**built_in, "rounds": 4})

    def some(models: mf.Stack, round: mf.Round) -> None:
        before = models.numpy().copy()
        round.train(models, steps=np.arange(10) % 2)
        moved = (models.numpy() != before).any(axis=1)
        assert moved.tolist() == [False, True] * 5

    assert act(experiment, some)[-1]["local_steps"] == 5


def test_rows_see_the_examples_of_the_clients_that_they_are_given(experiment: Experiment) -> None:
    order = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])

    def look(models: mf.Stack, round: mf.Round) -> None:
        models.set(np.repeat(models.numpy()[:1], 10, axis=0))
        own, _ = round.gradients(models)
        theirs, _ = round.gradients(models, clients=order)
        assert bits(theirs.numpy()) == bits(own.numpy()[order])
        losses, accuracies = round.evaluate(models)
        others = round.evaluate(models, clients=order)
        assert bits(others[0]) == bits(losses[order]) and bits(others[1]) == bits(accuracies[order])
        # A stack of any number of rows, such as walkers.
        walkers = models.gather([0, 0, 0])
        round.train(walkers, clients=[7, 7, 8])
        rows = walkers.numpy()
        assert bits(rows[0]) == bits(rows[1]) != bits(rows[2])
        round.train(models)
        assert bits(models.numpy()[7]) == bits(rows[0])
        assert round.evaluate(walkers, clients=[0, 1, 2])[0].shape == (3,)

    whole = act(experiment, look, keys={"batch_size": "full"})
    assert whole[-1]["local_steps"] == 10 + 10 + 3 + 10


def test_clients_that_take_no_part_do_nothing_for_any_row(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        dead = int(np.flatnonzero(~round.alive)[0])
        living = int(np.flatnonzero(round.alive)[0])
        before = models.numpy().copy()
        clients = [dead] * 5 + [living] * 5
        round.train(models, steps=[2] * 10, clients=clients)
        moved = (models.numpy() != before).any(axis=1)
        assert moved.tolist() == [False] * 5 + [True] * 5
        gradients, _ = round.gradients(models, clients=clients)
        assert not gradients.numpy()[:5].any() and gradients.numpy()[5:].any()
        with pytest.raises(ValueError, match=f"names client {dead}, which takes no part in this round: see `round.alive`"):
            round.send(edges=[[living, dead]])

    failures = [{"clients": {"share": 0.3}, "redraw": "each_round"}]
    act(experiment, look, failures=failures)


def test_rows_that_are_not_asked_for_have_no_gradient(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        some = np.arange(10) % 3 == 0
        gradients, rates = round.gradients(models, rows=some)
        assert (gradients.numpy().any(axis=1) == some).all() and ((rates > 0) == some).all()
        # The others have not moved on through their examples.
        again, _ = round.gradients(models, same_batches=True, rows=some)
        assert bits(again.numpy()) == bits(gradients.numpy())
        all_of_them, _ = round.gradients(models)
        assert bits(all_of_them.numpy()[some]) != bits(gradients.numpy()[some])
        for wrong in ([True] * 9, [0.5] * 10, True):
            with pytest.raises(TypeError, match="gradients: `rows` needs true or false for each of 10 rows"):
                round.gradients(models, rows=wrong)

    assert act(experiment, look)[-1]["local_steps"] == 4 + 4 + 10


class Looped(mf.Method):
    """The local steps of `round.train` as a loop over gradients."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        steps = round.local_steps
        for step in range(steps.max()):
            gradients, rates = round.gradients(models, rows=step < steps)
            models.add_scaled(gradients, -rates)
        round.send(models)
        models.mix(round.mixing)


@pytest.mark.parametrize("local", [{"steps": 6}, {"epochs": 2}])
@pytest.mark.parametrize("policy", ["partial", "receive", "isolate"])
def test_a_loop_over_local_steps_comes_to_what_local_work_comes_to(experiment: Experiment, local: dict[str, int], policy: str) -> None:
    late = {"stragglers": {"share": 0.4, "policy": policy}, "failures": [{"clients": {"share": 0.2}, "redraw": "each_round"}]}
    loop = {**with_algorithm(experiment, "looped", local=local), **late}
    train = {**with_algorithm(experiment, "my_dfedavgm", local=local), **late}
    for mine, theirs in zip(records_of(loop), records_of(train), strict=True):
        # The engine rounds a step otherwise than its parts.
        exact = ("local_steps", "examples_seen", "bytes_total", "messages_total", "alive")
        assert all(mine.get(key) == theirs.get(key) for key in exact)
        assert mine["consensus_distance"] == pytest.approx(theirs["consensus_distance"], rel=1e-6)
        assert mine["test_loss"]["mean"] == pytest.approx(theirs["test_loss"]["mean"], rel=1e-6)
    assert warned({**loop, "name": "again"}) == warned({**train, "name": "again"})


def test_stragglers_that_are_not_cut_down_are_told(experiment: Experiment) -> None:
    def one(models: mf.Stack, round: mf.Round) -> None:
        gradients, rates = round.gradients(models)
        models.add_scaled(gradients, -rates)

    ACTS.append(one)
    try:
        late = {"stragglers": {"share": 0.4, "policy": "partial"}}
        told = warned(with_algorithm(experiment, "acting", local={"steps": 6}), **late)
        assert any(warning.startswith("stragglers cut down no work of the method `acting`") for warning in told)
        told = warned(with_algorithm(experiment, "acting"), name="none")
        assert not any("stragglers" in warning for warning in told)
    finally:
        ACTS.pop()


def test_stragglers_cut_down_the_steps_that_rows_are_told(experiment: Experiment) -> None:
    def ten(models: mf.Stack, round: mf.Round) -> None:
        round.train(models, steps=[10] * 10)

    stragglers = {"stragglers": {"share": 0.5, "policy": "partial"}}
    some = act(experiment, ten, rounds=3, keys={"local": {"steps": 2}}, **stragglers)
    built_in = with_algorithm(experiment, "dsgd", local={"steps": 10})
    assert some[-1]["local_steps"] < 300
    assert some[-1]["local_steps"] == records_of({**built_in, "rounds": 3, **stragglers})[-1]["local_steps"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m, r: r.train(m, clients=[0] * 9), ValueError, "train: `clients` has 9 numbers, needed one for each of 10 rows"),
        (lambda m, r: r.train(m, clients=[10] * 10), ValueError, "train: `clients` names client 10, but there are clients 0 to 9"),
        (lambda m, r: r.train(m, clients=[-1] * 10), ValueError, "train: `clients` names client -1"),
        (lambda m, r: r.train(m, clients=[0.5] * 10), TypeError, "train: `clients` needs whole numbers, one for each of 10 rows"),
        (lambda m, r: r.train(m, clients=r.alive), TypeError, "train: `clients` needs whole numbers"),
        (lambda m, r: r.train(m, steps=[-1] * 10), ValueError, "train: `steps` has a number below 0"),
        (lambda m, r: r.train(m, steps=[1] * 9), ValueError, "train: `steps` has 9 numbers, needed one for all rows, or one for each of 10"),
        (lambda m, r: r.train(m, steps=0.5), TypeError, "train: `steps` needs whole numbers: one for all rows, or one for each of 10"),
        (lambda m, r: r.train(m.gather([0])), ValueError, "train: the stack has 1 rows, but there are 10 clients: say by `clients`"),
        (lambda m, r: r.gradients(m.gather([0])), ValueError, "gradients: the stack has 1 rows"),
        (lambda m, r: r.gradients(m, clients=[11] * 10), ValueError, "gradients: `clients` names client 11"),
        (lambda m, r: r.evaluate(m.gather([0, 1])), ValueError, "evaluate: the stack has 2 rows"),
        (lambda m, r: r.evaluate(m, clients=["a"] * 10), TypeError, "evaluate: `clients` needs whole numbers"),
    ],
)
def test_rows_and_clients_that_cannot_be_are_refused(
    experiment: Experiment, call: Act, error: type[Exception], words: str
) -> None:
    def try_it(models: mf.Stack, round: mf.Round) -> None:
        before = bits(models.numpy())
        with pytest.raises(error, match=re.escape(words)):
            call(models, round)
        assert bits(models.numpy()) == before

    assert act(experiment, try_it)[-1]["local_steps"] == 0


def test_a_key_for_steps_that_is_not_used_is_told(experiment: Experiment) -> None:
    def one(models: mf.Stack, round: mf.Round) -> None:
        round.train(models, steps=[1] * 10)

    ACTS.append(one)
    try:
        told = warned(with_algorithm(experiment, "acting", local={"steps": 5}, momentum=0.5))
        assert told == ["algorithm.own.local is not used: the method `acting` gives round.train its `steps`"]
    finally:
        ACTS.pop()


# Scores, sizes and labels.


def softmax_losses(x: NDArray[Any], y: NDArray[Any], weight: NDArray[Any], bias: NDArray[Any]) -> tuple[float, float]:
    """The mean cross-entropy and the accuracy of a logistic regression, in double precision."""
    outputs = x.astype(float) @ weight.astype(float) + bias.astype(float)
    largest = outputs.max(axis=1, keepdims=True)
    logs = outputs - largest - np.log(np.exp(outputs - largest).sum(axis=1, keepdims=True))
    return float(-logs[np.arange(len(y)), y].mean()), float((outputs.argmax(axis=1) == y).mean())


def test_scores_are_those_of_the_clients_examples(experiment: Experiment) -> None:
    draws = np.random.default_rng(1)
    y = np.arange(120) % 4
    x = (np.eye(4)[y] + 0.5 * draws.standard_normal((120, 4))).astype(np.float32)
    lists = [np.arange(0, 50), np.arange(50, 60), np.arange(60, 120, 2)]
    mine = {
        "dataset": mf.dataset(x, y, x, y),
        "partition": mf.partition(lists),
        "topology": "complete",
    }

    def look(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        layers = list(models.by_layer().values())
        clients = [2, 0, 1]
        losses, accuracies = round.evaluate(models, clients=clients)
        for row, client in enumerate(clients):
            of_client = lists[client]
            loss, accuracy = softmax_losses(x[of_client], y[of_client], layers[0][row], layers[1][row, 0])
            assert losses[row] == pytest.approx(loss, rel=1e-5) and accuracies[row] == pytest.approx(accuracy)
        assert round.shard_sizes.tolist() == [50, 10, 30]
        counts = np.array([np.bincount(y[of_client], minlength=4) for of_client in lists])
        assert (round.label_counts == counts).all() and round.label_counts.shape == (3, 4)

    act(experiment, look, rounds=3, **mine)


def test_models_are_judged_on_validation_and_test_examples_too(experiment: Experiment) -> None:
    def look(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        two = models.gather([3, 3])
        for on in ("validation", "test"):
            losses, accuracies = round.evaluate(two, on=on)
            assert losses[0] == losses[1] and accuracies[0] == accuracies[1]
            with pytest.raises(ValueError, match="`clients` is for training examples"):
                round.evaluate(two, on=on, clients=[0, 1])
        assert round.evaluate(models, on="test")[1].mean() != round.evaluate(models, on="validation")[1].mean()
        with pytest.raises(ValueError, match="`on` is `all`, needed `train`, `validation` or `test`"):
            round.evaluate(models, on="all")
        SCORES.append(round.evaluate(models, on="test")[1].mean())

    SCORES: list[float] = []
    records = act(experiment, look, dataset={"glyphs": {"train": 600, "test": 100, "validation": 50}})
    assert records[-1]["test_accuracy"]["mean"] == pytest.approx(SCORES[0])

    def none(models: mf.Stack, round: mf.Round) -> None:
        with pytest.raises(ValueError, match="examples for validation"):
            round.evaluate(models, on="validation")

    act(experiment, none)


# Weights and messages of one's own.


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


# Rows.


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


# Compression.


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


# Overlays by labels.


def cliques(nodes: int, label_counts: NDArray[np.uint64]) -> list[tuple[int, int]]:
    """Every node with the next that holds most of another label, in a ring besides."""
    most = label_counts.argmax(axis=1)
    ring = [(node, (node + 1) % nodes) for node in range(nodes)]
    return ring + [(a, b) for a in range(nodes) for b in range(a) if most[a] != most[b] and (a + b) % 3 == 0]


def test_an_overlay_may_go_by_the_labels_of_its_nodes(experiment: Experiment) -> None:
    several = {
        **experiment,
        "topology": mf.overlay(cliques, changes=False),
        "sweep": {"grid": {"seed": [1, 2]}},
        "rounds": 2,
    }
    runs = mf.run(several, progress=False)
    found = []
    for run in runs:
        held, overlay = run.partition, run.overlay
        assert held is not None and held.labels is not None and overlay is not None
        wanted = cliques(10, held.labels.astype(np.uint64))
        edges = {tuple(sorted(edge)) for edge in overlay.edges.tolist()}
        assert edges == {tuple(sorted(edge)) for edge in wanted}
        found.append(edges)
    assert found[0] != found[1], "the seeds deal other labels"


def test_overlays_of_each_round_may_go_by_labels_too(experiment: Experiment) -> None:
    seen: list[Any] = []

    def each(round: int, nodes: int, label_counts: NDArray[np.uint64]) -> list[tuple[int, int]]:
        seen.append((round, label_counts.sum(), label_counts.shape))
        return [(node, (node + round) % nodes) for node in range(nodes)]

    records_of({**with_algorithm(experiment, "my_dsgd"), "topology": mf.overlay(each, version="1"), "rounds": 3})
    assert {round for round, _, _ in seen} == {1, 2, 3}
    assert all(total == 600 and shape == (10, 10) for _, total, shape in seen)


def test_an_overlay_may_be_drawn_by_the_seed(experiment: Experiment) -> None:
    def drawn(nodes: int, generator: np.random.Generator) -> list[tuple[int, int]]:
        return [(node, int(generator.integers(node))) for node in range(1, nodes)]

    def of_round(round: int, nodes: int, generator: np.random.Generator) -> list[tuple[int, int]]:
        return drawn(nodes, generator)

    def edges(part: mf.Part, **more: Any) -> list[list[list[int]]]:
        runs = mf.run({**experiment, "topology": part, "sweep": {"grid": {"seed": [1, 2]}}, "rounds": 2, **more}, progress=False, again=True)
        return [run.overlay.edges.tolist() for run in runs if run.overlay is not None]

    fixed = mf.overlay(drawn, changes=False)
    first, second = edges(fixed)
    assert first != second and [first, second] == edges(fixed)
    # The seed of the overlay alone decides.
    same = edges(fixed, seeds={"topology": 5})
    assert same[0] == same[1]
    first, second = edges(mf.overlay(of_round))
    assert first != second


@pytest.mark.parametrize(
    ("function", "changes"),
    [
        (lambda nodes, seed: [], False),
        (lambda nodes: [], True),
        (lambda round, nodes: [], False),
        (lambda round, nodes, more: [], True),
    ],
)
def test_an_overlay_of_other_parameters_is_refused(function: Any, changes: bool) -> None:
    called = "is called with round, nodes, and" if changes else "is called with nodes, and"
    with pytest.raises(ValueError, match=f"{called} by name with `label_counts` and `generator` if it has these parameters"):
        mf.overlay(function, changes=changes)


def test_an_overlay_that_stays_is_asked_once_and_must_be_connected(experiment: Experiment) -> None:
    calls: list[int] = []

    def ring(nodes: int) -> list[tuple[int, int]]:
        calls.append(nodes)
        return [(node, (node + 1) % nodes) for node in range(nodes)]

    base = with_algorithm(experiment, "dsgd")
    mine = records_of({**base, "topology": mf.overlay(ring, changes=False, version="1"), "rounds": 4})
    assert calls == [10]
    assert mine == records_of({**base, "rounds": 4})
    apart = mf.overlay(lambda nodes: [(0, 1)], changes=False, version="1")
    with pytest.raises(mf.ConfigError, match="connected"):
        mf.run({**base, "topology": apart}, progress=False)
    with pytest.raises(ValueError, match="`changes` is for functions"):
        mf.overlay(np.ones((3, 3)), changes=False)


@pytest.mark.parametrize("changes", [True, False])
def test_an_overlay_that_is_drawn_anew_is_refused(experiment: Experiment, changes: bool) -> None:
    draws = np.random.default_rng(1)

    def drawn(*place: int) -> list[tuple[int, int]]:
        return [(node, int(draws.integers(node))) for node in range(1, place[-1])]

    anew = {**with_algorithm(experiment, "dsgd"), "topology": mf.overlay(drawn, changes=changes, version="1")}
    with pytest.raises((mf.ConfigError, mf.RunFailed), match="returned another graph for the same round"):
        for _ in range(2):
            mf.run(anew, progress=False, again=True)

    def seeded(*place: int) -> list[tuple[int, int]]:
        draws = np.random.default_rng(7)
        return [(node, int(draws.integers(node))) for node in range(1, place[-1])]

    fine = {**anew, "topology": mf.overlay(seeded, changes=changes, version="1")}
    assert len(mf.run(fine, progress=False, again=True)) == 1
