"""D-SGD, written as a user would write it: in Meshfold's Python, in JAX, in PyTorch, and as gossipy has it.

    python gossip.py w1 --impl meshfold

All but gossipy do the same: local steps of every client on batches of its own examples, then one product with the Metropolis
weights of the overlay; w1 and w2 without momentum. These are the plain ways, not the fastest: `jax_rival.py` and `torch_rival.py` have
those. `--lines` prints how many lines of code each takes: what stands between the marks, but for blank lines and comments.

meshfold  a method of one's own; the time is that of the rounds, without planning and judging
jax       stacked clients under `vmap`, a whole round compiled
torch     a module and an optimizer for each client, one after another
gossipy   its own push gossip with one neighbour, which is less of an exchange; see `simulators.py`
"""

import dataclasses
import inspect
import json
import sys
import tempfile
from collections.abc import Callable

import numpy as np

from protocol import command_line, cores, report, timed
from workloads import initial, metropolis, regular_overlay, synthetic


@dataclasses.dataclass
class Way:
    """What is timed. `seconds` are those of each call where the clock would count more; `loss` measures where `run` returns none."""

    run: Callable
    version: str
    seconds: list | None = None
    loss: Callable | None = None


def dense_weights(neighbours):
    """The Metropolis weights as a matrix `[N, N]`."""
    own, edges = metropolis(neighbours)
    weights = np.diag(own)
    np.put_along_axis(weights, neighbours, edges, axis=1)
    return weights


def meshfold(case, data, neighbours, _):
    from importlib.metadata import version

    import meshfold as mf

    # method
    class Dsgd(mf.Method):
        def round(self, models, round):
            round.train(models)
            round.send(models)
            models.mix(round.mixing)
    # end

    inputs, targets = data.inputs, data.targets
    experiment = {
        "name": "gossip",
        "dataset": mf.dataset(inputs, targets, inputs[:100], targets[:100]),
        "partition": mf.partition(list(data.shards)),
        "topology": mf.overlay(edges_of(neighbours)),
        "model": {"mlp": {"hidden": list(case.widths[1:-1])}} if len(case.widths) > 2 else "logistic",
        "algorithm": {
            "own": {
                "name": "dsgd",
                "local": {"steps": case.steps},
                "batch_size": case.batch,
                "learning_rate": case.rate,
                "draw": "with_replacement",
            }
        },
        "rounds": case.rounds,
        "evaluate": {"every": case.rounds, "examples": 10},
    }
    seconds = []

    def run():
        with tempfile.TemporaryDirectory() as results:
            run = mf.run(experiment, results=results, threads=cores(), progress=False)[0]
            seconds.append(run.summary["seconds"]["rounds"])
            records = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
            return json.loads(records[-1])["train_loss"]

    return Way(run, version("meshfold"), seconds=seconds)


def edges_of(neighbours):
    pairs = [(node, int(other)) for node, others in enumerate(neighbours) for other in others if node < other]
    return np.array(pairs)


def jax(case, data, neighbours, model):
    import jax
    import jax.numpy as jnp

    import jax_models

    jax.config.update("jax_platforms", "cpu")
    inputs, targets, shards = (jnp.asarray(array) for array in (data.inputs, data.targets, data.shards))
    weights = jnp.asarray(dense_weights(neighbours))
    loss = jax_models.dense
    models = {name: jnp.stack([values] * case.clients) for name, values in model.items()}

    # method
    def step(models, key):
        places = jax.random.randint(key, (case.clients, case.batch), 0, case.samples)
        rows = jnp.take_along_axis(shards, places, axis=1)
        losses, gradients = jax.vmap(jax.value_and_grad(loss))(models, inputs[rows], targets[rows])
        return jax.tree.map(lambda w, g: w - case.rate * g, models, gradients), losses.mean()

    @jax.jit
    def dsgd(models, key):
        models, losses = jax.lax.scan(step, models, jax.random.split(key, case.steps))
        return jax.tree.map(lambda w: jnp.tensordot(weights, w, 1), models), losses.mean()
    # end

    keys = iter(jax.random.split(jax.random.key(0), 10_000))

    def run():
        nonlocal models
        for _ in range(case.rounds):
            models, mean = dsgd(models, next(keys))
        return float(jax.block_until_ready(mean))

    return Way(run, jax.__version__)


def torch(case, data, neighbours, model):
    import torch
    import torch.nn.functional as F

    from torch_models import Dense, to_torch

    torch.set_num_threads(cores())
    torch.manual_seed(0)
    inputs, targets = torch.from_numpy(data.inputs), torch.from_numpy(data.targets).long()
    shards = torch.from_numpy(data.shards).long()
    weights = torch.from_numpy(dense_weights(neighbours))
    clients = [Dense(case) for _ in range(case.clients)]
    for client in clients:
        client.load_state_dict({name: to_torch(name, values) for name, values in model.items()})

    # method
    optimizers = [torch.optim.SGD(client.parameters(), lr=case.rate) for client in clients]

    def dsgd():
        for client, optimizer, shard in zip(clients, optimizers, shards):
            for _ in range(case.steps):
                rows = shard[torch.randint(case.samples, (case.batch,))]
                loss = F.cross_entropy(client(inputs[rows].float() * (2 / 255) - 1), targets[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        with torch.no_grad():
            vectors = torch.stack([torch.nn.utils.parameters_to_vector(client.parameters()) for client in clients])
            for client, mixed in zip(clients, weights @ vectors):
                torch.nn.utils.vector_to_parameters(mixed, client.parameters())
        return loss
    # end

    def run():
        for _ in range(case.rounds):
            loss = dsgd()
        return loss.item()

    return Way(run, torch.__version__)


def gossipy(case, data, neighbours, model):
    from importlib.metadata import version

    import torch

    import simulators

    torch.set_num_threads(cores())
    run, loss = simulators.gossipy(case, data, neighbours, model)
    return Way(run, version("gossipy-dfl"), loss=loss)


WAYS = {"meshfold": meshfold, "jax": jax, "torch": torch, "gossipy": gossipy}


def lines_of(way):
    """Lines of code between the marks."""
    lines = [line.strip() for line in inspect.getsource(way).splitlines()]
    code = lines[lines.index("# method") + 1 : lines.index("# end")]
    return sum(1 for line in code if line and not line.startswith("#"))


def main():
    if sys.argv[1:] == ["--lines"]:
        for name in ("meshfold", "jax", "torch"):
            print(name, lines_of(WAYS[name]))
        return
    case, args = command_line(__doc__, tuple(WAYS))
    case = dataclasses.replace(case, momentum=0.0)
    if args.impl == "gossipy":
        # It goes through all that a client has once a round.
        case = dataclasses.replace(case, samples=case.batch * case.steps)
    rng = np.random.default_rng(0)
    neighbours = regular_overlay(case.clients, case.degree, rng)
    data, model = synthetic(case, rng), initial(case, rng)
    way = WAYS[args.impl](case, data, neighbours, model)
    first = way.loss and float(way.loss())
    timing = timed(way.run, args)
    if way.seconds:
        timing.seconds = way.seconds[args.warmup :]
    if way.loss:
        timing.losses = [first, float(way.loss())]
    report(case, args, timing, args.impl, way.version)


if __name__ == "__main__":
    main()
