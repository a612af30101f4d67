"""Federated averaging as FedJAX's tutorial of algorithms and its `emnist_fed_avg` have it, on digits by their writers.

python fedjax_tutorial.py --rounds 30 --seed 1
"""

import argparse
import json

import data
import jax
import numpy as np

# FedJAX was written when JAX still had these names.
jax.tree_map, jax.tree_leaves = jax.tree.map, jax.tree.leaves
import fedjax


def federated(images, labels, owners):
    """One client for each writer."""
    clients = {}
    for owner in np.unique(owners):
        own = owners == owner
        clients[owner] = {"x": images[own], "y": labels[own]}
    return fedjax.InMemoryFederatedData(clients)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    def read(split):
        images, labels = data.digits(split)
        return images[..., None].astype(np.float32) / 255, labels.astype(np.int32)

    train = federated(*read("train"), data.writers())
    test_images, test_labels = read("t10k")
    test = fedjax.ClientDataset({"x": test_images, "y": test_labels})

    model = fedjax.models.emnist.create_conv_model(only_digits=True)
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        fedjax.model_grad(model),
        fedjax.optimizers.sgd(0.1),
        fedjax.optimizers.sgd(1.0),
        fedjax.ShuffleRepeatBatchHParams(batch_size=10),
    )
    state = algorithm.init(model.init(jax.random.PRNGKey(args.seed)))
    sampler = fedjax.client_samplers.UniformGetClientSampler(train, num_clients=10, seed=args.seed)
    for number in range(1, args.rounds + 1):
        state, _ = algorithm.apply(state, sampler.sample())
        if number % 10 == 0 or number == args.rounds:
            batches = test.padded_batch(batch_size=256)
            metrics = fedjax.evaluate_model(model, state.params, batches)
            print(f"round {number}: {metrics}")
    print(json.dumps({"accuracy": float(metrics["accuracy"])}))


if __name__ == "__main__":
    main()
