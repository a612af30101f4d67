"""Mini-batches, rows, examples and scores in the rounds of methods in Python."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from acting import ACTS, Act, Experiment, act, bits
from conftest import Halt, halt_at
from numpy.typing import NDArray
from test_own_methods import records, records_of, warned, with_algorithm

import meshfold as mf


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


def test_recursive_gradients_on_whole_shards_are_gradients(experiment: Experiment) -> None:
    keys = {"batch_size": "full", "learning_rate": 0.5}
    recursive = records_of(with_algorithm(experiment, "gt_hsgd", **keys))
    plain = records_of(with_algorithm(experiment, "plain_tracking", **keys))
    assert recursive[-1]["train_loss"] is not None
    for mine, other in zip(recursive, plain, strict=True):
        assert mine["test_accuracy"]["mean"] == pytest.approx(other["test_accuracy"]["mean"], abs=0.005)
        assert mine["consensus_distance"] == pytest.approx(other["consensus_distance"], rel=1e-3)


class PlainTracking(mf.Method):
    """What GT-HSGD is on whole shards: the recursion leaves the gradients themselves."""

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
    long = {**with_algorithm(experiment, "gt_hsgd", batch_size=7), "rounds": 20, "checkpoint": {"every": 5}}
    with pytest.raises(Halt):
        mf.run(long, progress=False, callbacks=[halt_at(10)])
    (parts,) = mf.run(long, progress=False)
    (whole,) = mf.run(long, progress=False, results="whole")
    assert records(parts.folder) == records(whole.folder)


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


def test_steps_with_nesterov_momentum_are_those_of_the_formula(experiment: Experiment) -> None:
    def both(models: mf.Stack, round: mf.Round) -> None:
        trained, velocity = models.copy(), models.zeros_like()
        round.train(trained, steps=3)
        for _ in range(3):
            gradients, rates = round.gradients(models)
            velocity = velocity * 0.9 + gradients
            models.add_scaled(gradients + velocity * 0.9, -rates)
        assert np.allclose(trained.numpy(), models.numpy(), rtol=0, atol=1e-6)

    act(experiment, both, rounds=2, keys={"batch_size": "full", "momentum": 0.9, "nesterov": True, "weight_decay": 0.01})


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
        (lambda m, r: r.train(m, steps=[-1] * 10), ValueError, "train: `steps` has -1 for row 0, needed whole numbers from 0"),
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
        unused, idle = told
        assert unused == "algorithm.own.local is not used: the method `acting` gives round.train its `steps` or a `batch`"
        assert idle.startswith("algorithm.own.momentum has no effect: the method `acting` begins it anew in each call of round.train")
        kept = warned(with_algorithm(experiment, "acting", local={"steps": 5}, momentum=0.5, nesterov=True))
        assert kept == [unused], "the step is larger"
    finally:
        ACTS.pop()


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


def test_local_test_sets_and_what_is_left_to_train_on_are_all_examples_of_a_client(experiment: Experiment) -> None:
    draws = np.random.default_rng(2)
    y = np.arange(120) % 4
    x = (np.eye(4)[y] + 0.5 * draws.standard_normal((120, 4))).astype(np.float32)
    lists = [np.arange(0, 50), np.arange(50, 60), np.arange(60, 120, 2)]
    mine = {
        "dataset": mf.dataset(x, y, x, y),
        "partition": mf.partition(lists),
        "topology": "complete",
    }
    found: list[float] = []

    def look(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        layers = list(models.by_layer().values())
        sizes = np.array([len(of_client) for of_client in lists])
        left = round.shard_sizes
        assert left.tolist() == [40, 8, 24]
        pairs = zip(round.evaluate(models), round.evaluate(models, on="local_test"), strict=True)
        losses, accuracies = ((left * own + (sizes - left) * local) / sizes for own, local in pairs)
        for client, of_client in enumerate(lists):
            loss, accuracy = softmax_losses(x[of_client], y[of_client], layers[0][client], layers[1][client, 0])
            assert losses[client] == pytest.approx(loss, rel=1e-5) and accuracies[client] == pytest.approx(accuracy)
        found[:] = round.evaluate(models, on="local_test", clients=[0, 1, 2])[1]

    records = act(experiment, look, rounds=3, evaluate={"local_test": 0.2}, **mine)
    assert records[-1]["local_test_accuracy"]["mean"] == pytest.approx(np.mean(found))

    def small(models: mf.Stack, round: mf.Round) -> None:
        (losses, accuracies), sizes = round.evaluate(models, on="local_test", clients=[0, 1, 2]), round.shard_sizes
        assert sizes[1] == 1 and np.isnan([losses[1], accuracies[1]]).all(), "one example is left to train on"
        assert np.isfinite(losses[[0, 2]]).all() and np.isfinite(accuracies[[0, 2]]).all()

    few: dict[str, Any] = {**mine, "partition": mf.partition([lists[0], np.array([50]), lists[2]])}
    act(experiment, small, evaluate={"local_test": 0.2}, **few)

    def none(models: mf.Stack, round: mf.Round) -> None:
        with pytest.raises(ValueError, match="the clients have no local test sets: give them some by"):
            round.evaluate(models, on="local_test")

    act(experiment, none)


def test_local_test_sets_of_owners_are_their_test_examples(experiment: Experiment) -> None:
    draws = np.random.default_rng(4)
    y = np.arange(120) % 4
    x = (np.eye(4)[y] + 0.5 * draws.standard_normal((120, 4))).astype(np.float32)
    owner, owner_test = np.repeat([0, 1, 2], [50, 10, 60]), draws.choice([0, 2, 3], 120)
    mine = {
        "dataset": mf.dataset(x, y, x[::-1], y[::-1], owner=owner, owner_test=owner_test),
        "partition": "by_writer",
        "topology": "complete",
        "evaluate": {"local_test": "owners"},
    }
    found: list[NDArray[Any]] = []

    def look(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        layers = list(models.by_layer().values())
        losses, accuracies = round.evaluate(models, on="local_test")
        batch = round.examples(on="local_test")
        assert batch.on == "test" and batch.sizes.tolist() == [(owner_test == each).sum() for each in range(3)]
        assert np.isnan([losses[1], accuracies[1]]).all(), "owner 1 has no test examples"
        for client in (0, 2):
            own = owner_test == client
            loss, accuracy = softmax_losses(x[::-1][own], y[::-1][own], layers[0][client], layers[1][client, 0])
            assert losses[client] == pytest.approx(loss, rel=1e-5) and accuracies[client] == pytest.approx(accuracy)
        found[:] = [accuracies[[0, 2]], batch.sizes[[0, 2]]]

    last = act(experiment, look, rounds=3, **mine)[-1]["local_test_accuracy"]
    accuracies, sizes = found
    assert last["mean"] == pytest.approx(accuracies.mean())
    assert last["weighted"] == pytest.approx(np.average(accuracies, weights=sizes))


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
        with pytest.raises(ValueError, match="`on` is `all`, needed `train`, `local_test`, `validation` or `test`"):
            round.evaluate(models, on="all")
        SCORES.append(round.evaluate(models, on="test")[1].mean())

    SCORES: list[float] = []
    records = act(experiment, look, dataset={"glyphs": {"train": 600, "test": 100, "validation": 50}})
    assert records[-1]["test_accuracy"]["mean"] == pytest.approx(SCORES[0])

    def none(models: mf.Stack, round: mf.Round) -> None:
        with pytest.raises(ValueError, match="examples for validation"):
            round.evaluate(models, on="validation")
        round.evaluate(models, on="validation")

    with pytest.raises(mf.RunFailed, match="keeps no validation examples: keep the last 1000 training examples apart by `validation: 1000`"):
        act(experiment, none)


def test_a_round_knows_how_many_there_are_and_whether_it_is_recorded(experiment: Experiment) -> None:
    seen: list[tuple[int, int, bool]] = []

    def do(models: mf.Stack, round: mf.Round) -> None:
        seen.append((round.number, round.rounds, round.recorded))
        round.record("noted", round.number)

    found = act(experiment, do, rounds=7, evaluate={"every": 3})
    assert seen == [(number, 7, number in (3, 6, 7)) for number in range(1, 8)]
    assert [record["round"] for record in found if "noted" in record.get("own", {})] == [3, 6, 7]


def test_a_run_that_ends_early_has_no_record_that_its_rounds_did_not_announce(experiment: Experiment) -> None:
    announced: list[int] = []

    def do(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        round.send(models)
        models.mix(round.mixing)
        assert round.rounds == 20
        if round.recorded:
            announced.append(round.number)

    for early in ({"budget": {"bytes": 1}}, {"evaluate": {"every": 4, "targets": [0.25], "stop_at_targets": True}}):
        announced.clear()
        found = act(experiment, do, rounds=20, **{"evaluate": {"every": 4}, **early})
        assert announced == [record["round"] for record in found if record["round"] > 0], early
        assert 4 <= announced[-1] < 20, early


#: What `start` was told, method by method.
TOLD: list[Any] = []


class Curious(mf.Method):
    """Takes all that `start` can be told."""

    pull: float = 0.5

    def start(self, models: mf.Stack, about: mf.Start) -> None:
        TOLD.append((about.rounds, about.seed, about.clients, about.shard_sizes.tolist(), about.settings["pull"], len(models)))
        self.halfway = about.rounds // 2

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        assert (round.rounds, round.seed, round.clients) == TOLD[-1][:3]
        assert round.settings["pull"] == TOLD[-1][4] and round.rounds // 2 == self.halfway
        round.send(models)


class Variadic(mf.Method):
    """Passes on whatever it is told."""

    def start(self, *arguments: Any) -> None:
        TOLD.append(len(arguments))

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.send(models)


def test_start_may_ask_about_the_run(experiment: Experiment) -> None:
    TOLD.clear()
    for halt in (True, False):
        base = {**with_algorithm(experiment, "curious", pull=0.25), "rounds": 6, "seed": 4, "checkpoint": {"every": 2}, "evaluate": {"every": 1}}
        try:
            mf.run(base, progress=False, callbacks=[halt_at(3)] if halt else [])
        except Halt:
            assert halt
    assert TOLD == [(6, 4, 10, [60] * 10, 0.25, 10)] * 2, "also in the run that goes on"
    mf.run({**with_algorithm(experiment, "variadic"), "rounds": 1}, progress=False)
    assert TOLD[-1] == 2


@pytest.mark.parametrize("keys", [{}, {"momentum": 0.5, "weight_decay": 0.01}, {"clip_norm": 0.05}])
def test_named_layers_move_alone(experiment: Experiment, keys: dict[str, Any]) -> None:
    def do(models: mf.Stack, round: mf.Round) -> None:
        weight, bias = models.by_layer()
        before, kept = models.copy(), models * 0.1
        velocity = kept.copy()
        round.train(models, layers=[bias], velocity=velocity)
        for name, stays in ((weight, True), (bias, False)):
            assert (bits(models.by_layer()[name]) == bits(before.by_layer()[name])) is stays
            assert (bits(velocity.by_layer()[name]) == bits(kept.by_layer()[name])) is stays or not keys.get("momentum")

    act(experiment, do, keys=keys)


def test_all_layers_are_the_whole_model(experiment: Experiment) -> None:
    after: list[bytes] = []

    def plain(models: mf.Stack, round: mf.Round) -> None:
        round.train(models)
        after.append(bits(models.numpy()))

    def named(models: mf.Stack, round: mf.Round) -> None:
        round.train(models, layers=tuple(models.by_layer()))
        after.append(bits(models.numpy()))

    for do in (plain, named):
        act(experiment, do, rounds=3, keys={"momentum": 0.9})
    assert after[:3] == after[3:]


def test_layers_that_do_not_exist_are_told(experiment: Experiment) -> None:
    def do(models: mf.Stack, round: mf.Round) -> None:
        weight, bias = models.by_layer()
        with pytest.raises(ValueError, match=f"train: there is no layer `head`: there are `{weight}`, `{bias}`"):
            round.train(models, layers=[weight, "head"])
        for wrong in ("weight", [1], 3):
            with pytest.raises(TypeError, match="train: `layers` needs a list of names"):
                round.train(models, layers=wrong)  # type: ignore[arg-type]

    act(experiment, do)


class Averaging(mf.Method):
    """Replaces models by averages of its own making."""

    way: str = "mix"

    def start(self, models: mf.Stack) -> None:
        self.velocity = models.zeros_like()

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.train(models, velocity=self.velocity)
        count = round.clients
        if self.way == "own matrix":
            models.mix(np.eye(count))
        elif self.way == "one way":
            round.send(models, edges=round.edges)
        elif self.way == "both ways":
            round.send(models, edges=np.concatenate([round.edges, round.edges[:, ::-1]]))
        elif self.way == "all rows":
            round.send(models)
            models.set(np.repeat(models.mean().numpy(), count, axis=0))


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("own matrix", "mixes models and never calls round.send"),
        ("one way", "calls round.send(edges=round.edges) on an undirected overlay"),
        ("both ways", None),
    ],
)
def test_messages_that_are_not_counted_are_told(experiment: Experiment, way: str, words: str | None) -> None:
    told = warned(with_algorithm(experiment, "averaging", way=way, momentum=0.9))
    assert told == [] if words is None else len(told) == 1 and words in told[0]


def test_models_of_absent_clients_that_change_are_told(experiment: Experiment) -> None:
    failures = [{"clients": {"list": [0]}, "from_round": 2}]
    described = with_algorithm(experiment, "averaging", way="all rows")
    assert warned(described) == []
    (told,) = warned(described, name="failing", failures=failures)
    assert told.startswith("the method `averaging` changes models of clients that take no part in a round")


class Leaving(mf.Method):
    """Records who is gone, and takes the models as an array."""

    def round(self, models: mf.Stack, round: mf.Round) -> None:
        round.send(bytes=0)
        round.record("gone", float(round.gone.sum()))
        assert (np.asarray(models) == models.numpy()).all()
        assert np.stack([models, models]).shape == (2, *models.shape)
        assert np.asarray(models, dtype=np.float64).dtype == np.float64


def test_who_is_gone_for_good_is_known(experiment: Experiment) -> None:
    failures = [{"clients": {"list": [0]}, "from_round": 2}, {"clients": {"list": [1]}, "from_round": 1, "until_round": 3}]
    base = with_algorithm(experiment, "leaving")
    (run,) = mf.run({**base, "evaluate": {"every": 1}, "rounds": 3, "failures": failures}, progress=False)
    assert [record["own"]["gone"] if "own" in record else None for record in records(run.folder)][1:] == [0.0, 1.0, 1.0]


def test_a_client_that_is_back_has_its_old_model_and_a_late_one_its_first(experiment: Experiment) -> None:
    models_in: dict[int, list[bytes]] = {}

    def watch(models: mf.Stack, round: mf.Round) -> None:
        models_in[round.number] = [bits(row) for row in models.numpy()]
        round.train(models)
        round.send(models)
        models.mix(round.mixing)

    failures = [
        {"clients": {"list": [0]}, "from_round": 3, "until_round": 5},
        {"clients": {"list": [1]}, "from_round": 1, "until_round": 4},
    ]
    act(experiment, watch, rounds=6, failures=failures, start="independent")
    back, late = ([models_in[round][client] for round in range(1, 7)] for client in (0, 1))
    assert back[2] == back[3] == back[4] and len(set(back)) == 4
    assert late[0] == late[1] == late[2] == late[3] and len(set(late)) == 3
