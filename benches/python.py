"""How fast methods and models of Python are beside the built-in ones, in one process, in turns.

    python benches/python.py methods        # D-SGD in Python beside `dsgd`, on W1 and W2: about two minutes
    python benches/python.py losses         # the same with its loss in Python, on W1 and W2: about four minutes
    python benches/python.py models         # an MLP of PyTorch and JAX beside `mlp`: about two minutes
    python benches/python.py metrics        # the table of 1,000 finished runs of 100 evaluations each: a minute

Needs the package (`pip install .`), and PyTorch and JAX for the second. All cores are used, but by those that `taskset` leaves out. Each way is
run once without being counted and then five times, in turns, so that what else the machine does meets all of them; the time is that of the
rounds, without planning and judging. W1 is logistic regression, 1000 clients, batches of 13, a mixing over ten neighbours after each step; W2
is an MLP 784-200-10, 100 clients, batches of 20, a mixing over three neighbours after 30 steps (10 for models).
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

import meshfold as mf
import numpy as np


class Dsgd(mf.Method):
    def round(self, models, round):
        round.train(models)
        round.send(models)
        models.mix(round.mixing)


class OwnLoss(mf.Method):
    """D-SGD whose cross-entropy is computed here: steps along slopes."""

    def round(self, models, round):
        for _ in range(round.local_steps.max()):
            self.step(models, round, round.batch())
        round.send(models)
        models.mix(round.mixing)

    def slopes(self, models, round, batch):
        outputs = round.outputs(models, batch)
        slopes = np.exp(outputs - outputs.max(axis=2, keepdims=True))
        slopes /= slopes.sum(axis=2, keepdims=True)
        rows, places = np.nonzero(batch.labels >= 0)
        slopes[rows, places, batch.labels[rows, places]] -= 1
        slopes /= np.maximum(batch.sizes, 1).astype(np.float32)[:, None, None]
        return slopes

    def step(self, models, round, batch):
        round.train(models, batch=batch, slopes=self.slopes(models, round, batch))


class OwnGradients(OwnLoss):
    """The same by gradients, which the method goes along itself."""

    def step(self, models, round, batch):
        gradients, rates = round.gradients(models, batch=batch, slopes=self.slopes(models, round, batch))
        models.add_scaled(gradients, -rates)


class Jax:
    """The MLP in JAX."""

    @staticmethod
    def initial(key):
        import jax

        first, second = jax.random.split(key)
        return {
            "w1": 784**-0.5 * jax.random.normal(first, (784, 200)),
            "b1": jax.numpy.zeros(200),
            "w2": 200**-0.5 * jax.random.normal(second, (200, 10)),
            "b2": jax.numpy.zeros(10),
        }

    @staticmethod
    def outputs(parameters, x):
        import jax

        hidden = jax.nn.relu(x @ parameters["w1"] + parameters["b1"])
        return hidden @ parameters["w2"] + parameters["b2"]


def module():
    from torch import nn

    return nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10))


def w1(rounds):
    training = {"local": {"steps": 1}, "batch_size": 13, "learning_rate": 0.1, "draw": "with_replacement"}
    return training, {
        "dataset": {"glyphs": {"train": 20_000, "test": 100}},
        "partition": {"iid": {"clients": 1000}},
        "topology": {"regular": {"degree": 10}},
        "model": "logistic",
        "rounds": rounds,
    }


def w2(rounds):
    training = {"local": {"steps": 30}, "batch_size": 20, "learning_rate": 0.01, "draw": "with_replacement"}
    return training, {
        "dataset": {"glyphs": {"train": 6_000, "test": 100}},
        "partition": {"iid": {"clients": 100}},
        "topology": {"regular": {"degree": 3}},
        "model": {"mlp": {"hidden": [200]}},
        "rounds": rounds,
    }


def speed(training, experiment):
    """Client steps per second of one run."""
    whole = {**experiment, "name": "speed", "evaluate": {"every": experiment["rounds"], "examples": 10}}
    with tempfile.TemporaryDirectory() as results:
        (run,) = mf.run(whole, results=results, threads=len(os.sched_getaffinity(0)), progress=False)
        seconds = run.summary["seconds"]["rounds"]
    clients = next(iter(experiment["partition"].values()))["clients"]
    return clients * training["local"]["steps"] * experiment["rounds"] / seconds


def in_turns(ways, repeat):
    """The speeds of each way; the first round of turns is not counted."""
    speeds = {name: [] for name in ways}
    for turn in range(repeat + 1):
        for name, (training, experiment) in ways.items():
            found = speed(training, experiment)
            if turn > 0:
                speeds[name].append(found)
        print(f"turn {turn} of {repeat}", file=sys.stderr, flush=True)
    return speeds


def show(title, speeds):
    """A table; ratios are those of each turn to the first way."""
    first = next(iter(speeds.values()))
    print(f"\n| {title} | client steps per second | beside the built-in one |\n|---|---|---|")
    for name, found in speeds.items():
        ratio = statistics.median(mine / theirs for mine, theirs in zip(found, first))
        print(f"| {name} | {statistics.median(found):,.0f} ({min(found):,.0f}–{max(found):,.0f}) | {ratio:.2f} |", flush=True)


def methods(repeat, rounds):
    of_methods({"the same in Python": "dsgd"}, repeat, rounds)


def losses(repeat, rounds):
    own = {"its loss in Python, `round.train`": "own_loss", "its loss in Python, `round.gradients`": "own_gradients"}
    of_methods({"the same in Python": "dsgd", **own}, repeat, rounds)


def of_methods(named, repeat, rounds):
    for name, case, usual in (("W1", w1, 300), ("W2", w2, 20)):
        training, experiment = case(rounds or usual)
        own = {way: {"own": {"name": method, **training}} for way, method in named.items()}
        algorithms = {"`dsgd`, built in": {"dsgd": training}, **own}
        ways = {way: (training, {**experiment, "algorithm": algorithm}) for way, algorithm in algorithms.items()}
        show(name, in_turns(ways, repeat))


def models(repeat, rounds):
    models = {
        "`mlp`, built in": ({"mlp": {"hidden": [200]}}, 6),
        "PyTorch, `torch_model`": (mf.torch_model(module), 1),
        "JAX, `jax_model`": (mf.jax_model(Jax.outputs, Jax.initial), 1),
    }
    ways = {}
    for name, (model, usual) in models.items():
        training, experiment = w2(rounds or usual)
        training["local"] = {"steps": 10}
        ways[name] = (training, {**experiment, "model": model, "algorithm": {"dsgd": training}})
    show("W2's model, 10 steps a round", in_turns(ways, repeat))


def metrics(repeat, rounds):
    experiment = {
        "name": "thousand",
        "dataset": {"glyphs": {"train": 200, "test": 20}},
        "partition": {"iid": {"clients": 4}},
        "topology": "ring",
        "model": "logistic",
        "algorithm": {"dsgd": {"batch_size": 5, "learning_rate": 0.1}},
        "rounds": rounds or 100,
        "sweep": {"grid": {"seed": list(range(1, 1001))}},
    }
    with tempfile.TemporaryDirectory() as results:
        mf.run(experiment, results=results, progress=False)
        seconds = []
        for _ in range(repeat):
            runs = mf.read(os.path.join(results, "thousand"))
            begun = time.perf_counter()
            table = runs.metrics()
            seconds.append(time.perf_counter() - begun)
    print(f"{len(runs):,} runs, {len(table):,} rows: {statistics.median(seconds):.2f} s ({min(seconds):.2f}–{max(seconds):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("methods", "losses", "models", "metrics"))
    parser.add_argument("--repeat", type=int, default=5, help="turns that count")
    parser.add_argument("--rounds", type=int, help="rounds of each run")
    given = parser.parse_args()
    {"methods": methods, "losses": losses, "models": models, "metrics": metrics}[given.what](given.repeat, given.rounds)


if __name__ == "__main__":
    main()
