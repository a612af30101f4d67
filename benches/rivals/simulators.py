"""Published simulators on what comes nearest to a workload of dense networks (w1, w2 or w3), through their public interface.

    python -m pip install -r requirements-simulators.txt
    python simulators.py w2 --impl gossipy

A client step is an SGD step of one client on one batch, whatever is done around it. They do less of the workload than the
other rivals:

gossipy      push gossip: a client sends its model to one random neighbour, which averages the two and trains
fedjax, pfl  federated averaging: one model on a server, clients keep nothing
"""

import dataclasses
import importlib.metadata
import logging
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import torch
import torch.nn.functional as F

import jax_models
from protocol import command_line, cores, report, timed
from torch_models import Dense, to_torch
from workloads import initial, regular_overlay, synthetic

TESTED = 2000  # examples that a loss is taken of


class Network(Dense):
    """A dense network of bytes, with the methods that pfl asks for."""

    def __init__(self, case, model):
        super().__init__(case)
        self.load_state_dict({name: to_torch(name, values) for name, values in model.items()})

    def forward(self, inputs):
        return super().forward(inputs.float() * (2 / 255) - 1)

    def loss(self, inputs, targets, eval=False):
        return F.cross_entropy(self(inputs), targets)

    def metrics(self, inputs, targets, eval=False):
        return {}


def as_torch(data):
    return torch.from_numpy(data.inputs), torch.from_numpy(data.targets).long()


@torch.no_grad()
def tested(network, data):
    inputs, targets = as_torch(data)
    return network.loss(inputs[:TESTED], targets[:TESTED]).item()


def gossipy(case, data, neighbours, model):
    # It takes torchvision to download data sets, which are not needed here.
    sys.modules.setdefault("torchvision", types.ModuleType("torchvision"))
    import gossipy as package
    from gossipy import simul
    from gossipy.core import AntiEntropyProtocol, ConstantDelay, CreateModelMode, StaticP2PNetwork
    from gossipy.model import TorchModel
    from gossipy.model.handler import TorchModelHandler
    from gossipy.node import GossipNode

    class Model(Network, TorchModel):
        def init_weights(self):
            pass

    class NoTest:
        def has_test(self):
            return False

    class Silent(list):
        def close(self):
            pass

    package.LOG.setLevel(logging.ERROR)
    simul.track = lambda items, description="": Silent(items)
    adjacency = np.zeros((case.clients, case.clients), dtype=int)
    np.put_along_axis(adjacency, neighbours, 1, axis=1)
    network = StaticP2PNetwork(case.clients, adjacency)
    how = {"lr": case.rate, "momentum": case.momentum}
    mode = CreateModelMode.MERGE_UPDATE
    handler = TorchModelHandler(Model(case, model), torch.optim.SGD, how, F.cross_entropy, 1, case.batch, mode)
    inputs, targets = as_torch(data)
    nodes = {}
    for client, rows in enumerate(data.shards):
        own = ((inputs[rows], targets[rows]), None)
        nodes[client] = GossipNode(client, own, 100, handler.copy(), network, True)
        nodes[client].has_test = lambda: False
        nodes[client].init_model(local_train=False)
    simulator = simul.GossipSimulator(nodes, NoTest(), 100, AntiEntropyProtocol.PUSH, delay=ConstantDelay(0))
    simulator.initialized = True  # init_nodes() would train for a round

    def run():
        simulator.start(n_rounds=case.rounds)

    return run, lambda: np.mean([tested(node.model_handler.model, data) for node in nodes.values()])


def fedjax(case, data, _, model):
    # It was written when JAX still had these names.
    jax.tree_map, jax.tree_leaves = jax.tree.map, jax.tree.leaves
    import fedjax as package

    gradient = jax.grad(jax_models.dense)
    algorithm = package.algorithms.fed_avg.federated_averaging(
        lambda model, batch, _: gradient(model, batch["x"], batch["y"]),
        package.optimizers.sgd(case.rate, momentum=case.momentum or None),
        package.optimizers.sgd(1.0),
        package.ShuffleRepeatBatchHParams(batch_size=case.batch, num_epochs=None, num_steps=case.steps, seed=0),
    )
    datasets = [package.ClientDataset({"x": data.inputs[rows], "y": data.targets[rows]}) for rows in data.shards]
    state = algorithm.init(jax.tree.map(jnp.asarray, model))

    def run():
        nonlocal state
        for of_round in jax.random.split(jax.random.key(1), case.rounds):
            keys = jax.random.split(of_round, case.clients)
            state, _ = algorithm.apply(state, list(zip(range(case.clients), datasets, keys)))
        jax.block_until_ready(state.params)

    return run, lambda: jax_models.dense(state.params, data.inputs[:TESTED], data.targets[:TESTED])


def pfl(case, data, _, model):
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.sampling import get_user_sampler
    from pfl.hyperparam.base import NNEvalHyperParams, NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    inputs, targets = as_torch(data)
    users = {n: Dataset((inputs[rows], targets[rows]), user_id=n) for n, rows in enumerate(data.shards)}
    sampler = get_user_sampler("minimize_reuse", list(users))
    federated = FederatedDataset(users.get, sampler)
    network = Network(case, model)

    def optimizer(parameters, lr=case.rate):
        return torch.optim.SGD(parameters, lr=lr, momentum=case.momentum)

    server = PyTorchModel(network, optimizer, torch.optim.SGD(network.parameters(), lr=1.0))
    backend = SimulatedBackend(training_data=federated, val_data=federated)
    algorithm = NNAlgorithmParams(
        central_num_iterations=case.rounds,
        evaluation_frequency=10**9,
        train_cohort_size=case.clients,
        val_cohort_size=0,
    )
    training = NNTrainHyperParams(local_num_epochs=1, local_learning_rate=case.rate, local_batch_size=case.batch)
    evaluation = NNEvalHyperParams(local_batch_size=None)

    def run():
        FederatedAveraging().run(algorithm, backend, server, training, evaluation, callbacks=[])

    return run, lambda: tested(network, data)


SIMULATORS = {"gossipy": gossipy, "fedjax": fedjax, "pfl": pfl}
PACKAGES = {"gossipy": "gossipy-dfl", "fedjax": "fedjax", "pfl": "pfl"}


def main():
    case, args = command_line(__doc__, tuple(SIMULATORS))
    if case.model != "dense":
        sys.exit("simulators are compared on w1, w2 and w3")
    logging.disable(logging.WARNING)
    jax.config.update("jax_platforms", "cpu")
    torch.set_num_threads(cores())
    torch.manual_seed(1)
    rng = np.random.default_rng(0)
    neighbours = regular_overlay(case.clients, case.degree, rng)
    # They go through all that a client has once a round.
    case = dataclasses.replace(case, samples=case.batch * case.steps)
    data, model = synthetic(case, rng), initial(case, rng)
    run, loss = SIMULATORS[args.impl](case, data, neighbours, model)
    first = float(loss())
    timing = timed(run, args)
    timing.losses = [first, float(loss())]
    report(case, args, timing, PACKAGES[args.impl], importlib.metadata.version(PACKAGES[args.impl]))


if __name__ == "__main__":
    main()
