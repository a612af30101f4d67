"""The workloads in JAX: stacked clients, a repeat is one compiled call with donated state.

    python jax_rival.py w2 --impl map

map     one client at a time runs all its local steps, and its model stays in cache; the clients are split over as many
        devices as there are cores
vmap    all clients take a step together, one batched operation per layer
gather, segment, dense (W6)   the mixing as a fused sum of gathered rows, over a list of edges, as a dense product
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jax_models
from protocol import command_line, cores, report, timed
from workloads import MIXED, initial, metropolis, regular_overlay, synthetic

TRAINING, MIXING = ("map", "vmap"), ("gather", "segment", "dense")


def use_devices(count):
    """Makes the processor `count` devices; must come before anything else of JAX."""
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", count)


def clients_on_devices():
    """Where arrays of one entry per client lie."""
    return NamedSharding(Mesh(np.array(jax.devices()), ("clients",)), PartitionSpec("clients"))


class Mixing:
    """Products with the Metropolis weights of a regular overlay; an array has the clients first."""

    def __init__(self, neighbours, impl="gather"):
        self.neighbours = jnp.asarray(neighbours)
        self.own, self.edges = (jnp.asarray(weights) for weights in metropolis(neighbours))
        self.of_array = {"gather": self.gather, "segment": self.segment, "dense": self.dense}[impl]

    def gather(self, stack):
        mixed = per_client(self.own, stack) * stack
        for neighbour, weight in zip(self.neighbours.T, self.edges.T):
            mixed += per_client(weight, stack) * stack[neighbour]
        return mixed

    def segment(self, stack):
        clients, degree = self.neighbours.shape
        receivers = jnp.repeat(jnp.arange(clients), degree)
        messages = per_client(self.edges.reshape(-1), stack) * stack[self.neighbours.reshape(-1)]
        sums = jax.ops.segment_sum(messages, receivers, clients, indices_are_sorted=True)
        return per_client(self.own, stack) * stack + sums

    def dense(self, stack):
        rows = jnp.arange(len(self.neighbours))
        matrix = jnp.diag(self.own).at[rows[:, None], self.neighbours].set(self.edges)
        return (matrix @ stack.reshape(len(rows), -1)).reshape(stack.shape)


def per_client(weights, stack):
    return weights.reshape(-1, *[1] * (stack.ndim - 1))


class Training:
    """Local steps of every client, then mixing."""

    def __init__(self, case, impl, data, neighbours):
        self.case, self.loss = case, jax_models.LOSSES[case.model]
        if case.precision == "bf16":
            self.loss = jax_models.in_bf16(self.loss)
        self.local = {"map": self.one_by_one, "vmap": self.together}[impl]
        self.mixing = Mixing(neighbours)
        everywhere = NamedSharding(clients_on_devices().mesh, PartitionSpec())
        self.inputs = jax.device_put(data.inputs, everywhere)
        self.targets = None if data.targets is None else jax.device_put(data.targets, everywhere)
        self.shards = jax.device_put(data.shards, clients_on_devices())

    def start(self, model):
        """Every client's model, all alike, and velocity."""
        stack = {name: np.repeat(values[None], self.case.clients, axis=0) for name, values in model.items()}
        models = jax.device_put(stack, clients_on_devices())
        return models, jax.tree.map(jnp.zeros_like, models) if self.case.momentum else ()

    def step(self, data, state, rows):
        """One local step of a client on the batch `rows`, [B]."""
        case, (model, velocity) = self.case, state
        inputs, targets = (None if of_all is None else of_all[rows] for of_all in data)
        loss, gradient = jax.value_and_grad(self.loss)(model, inputs, targets)
        if case.momentum:
            gradient = velocity = jax.tree.map(lambda v, g: case.momentum * v + g, velocity, gradient)
        return (jax.tree.map(lambda p, g: p - case.rate * g, model, gradient), velocity), loss

    def one_by_one(self, data, state, rows):
        def clients(data, state, rows):
            return lax.map(lambda of: lax.scan(lambda s, r: self.step(data, s, r), *of), (state, rows))

        by_client, everywhere = PartitionSpec("clients"), PartitionSpec()
        return jax.shard_map(
            clients,
            mesh=clients_on_devices().mesh,
            in_specs=(everywhere, by_client, by_client),
            out_specs=by_client,
            check_vma=False,
        )(data, state, rows)

    def together(self, data, state, rows):
        step = jax.vmap(lambda state, rows: self.step(data, state, rows))
        return lax.scan(step, state, rows.swapaxes(0, 1))

    def round(self, data, state, rows):
        """A round on the batches `rows`, [N, K, B]; the state after it and the mean loss."""
        models, velocity = state
        if not self.case.keeps_velocity:
            velocity = jax.tree.map(jnp.zeros_like, velocity)
        (models, velocity), losses = self.local(data, (models, velocity), rows)
        return (jax.tree.map(self.mixing.of_array, models), velocity), losses.mean()

    def rounds(self, state, key, data, shards):
        """The rounds of a repeat, with batches drawn from the clients' own rows with replacement."""
        case = self.case

        def one(state, key):
            drawn = jax.random.randint(key, (case.clients, case.steps * case.batch), 0, case.samples)
            rows = jnp.take_along_axis(shards, drawn, axis=1).reshape(case.clients, case.steps, case.batch)
            return self.round(data, state, rows)

        state, losses = lax.scan(one, state, jax.random.split(key, case.rounds))
        return state, losses.mean()

    def repeat(self, model):
        """A function that runs one repeat and returns its mean loss; the models start from `model`."""
        state, key, data = self.start(model), jax.random.key(1), (self.inputs, self.targets)
        compiled = jax.jit(self.rounds, donate_argnums=0).lower(state, key, data, self.shards).compile()

        def run():
            nonlocal state, key
            key, drawing = jax.random.split(key)
            state, loss = compiled(state, drawing, data, self.shards)
            return jax.block_until_ready((loss, state))[0].item()

        return run


def mixing_alone(case, impl, neighbours, rng):
    mix = Mixing(neighbours, impl).of_array
    stack = jax.device_put(rng.standard_normal((case.clients, MIXED), dtype=np.float32))
    rounds = jax.jit(lambda stack: lax.fori_loop(0, case.rounds, lambda _, s: mix(s), stack), donate_argnums=0)

    def run():
        nonlocal stack
        stack = rounds(stack).block_until_ready()
        return 0.0

    return run


def main():
    case, args = command_line(__doc__, TRAINING, MIXING, ("f32", "bf16"))
    if args.device == "cpu":
        use_devices(cores() if args.impl == "map" and case.clients % cores() == 0 else 1)
    elif case.precision == "f32":
        # JAX rounds the operands of products to TF32 on a GPU unless it is told not to.
        jax.config.update("jax_default_matmul_precision", "highest")
    rng = np.random.default_rng(0)
    neighbours = regular_overlay(case.clients, case.degree, rng)
    if case.steps:
        training = Training(case, args.impl, synthetic(case, rng), neighbours)
        run = training.repeat(initial(case, rng))
    else:
        run = mixing_alone(case, args.impl, neighbours, rng)
    report(case, args, timed(run, args), "jax", jax.__version__)


if __name__ == "__main__":
    main()
