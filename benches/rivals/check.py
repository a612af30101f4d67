"""Holds the rivals against each other: two rounds from the same start, on the same batches and the same overlay, must give
the same models in JAX, in PyTorch and, for dense networks, in a plain loop over clients in NumPy's float64. Then the
programs that compare.sh runs: their losses must fall.

    python check.py
"""

import dataclasses
import functools
import sys

import numpy as np
import torch

import jax_rival
import torch_rival
from workloads import CASES, initial, metropolis, regular_overlay, synthetic

SMALL = {
    "w1": {"clients": 8, "degree": 3, "rounds": 4},
    "w2": {"clients": 4, "degree": 3, "steps": 6, "samples": 60},
    "w3": {"clients": 6, "degree": 2, "steps": 3, "samples": 80},
    "w4": {"clients": 4, "degree": 2, "batch": 3, "steps": 2, "samples": 10, "rounds": 8},
    "w5": {"clients": 4, "degree": 3, "batch": 3, "samples": 10},
}
# Sums in float32 in another order differ by some 1e-6 of the largest entry; a velocity kept by mistake makes 0.1.
TOLERANCE = 2e-5
# Numbers in bfloat16 have 8 digits (binary). Most arrays differ by .01 at most; before a normalisation gradients cancel.
TOLERANCE_BF16 = 0.25


def plain_rounds(case, data, neighbours, model, rows):
    """A dense network's rounds, client by client, in float64: the models, name to array, and the mean loss of the last."""
    models = [{name: values.astype(np.float64) for name, values in model.items()}] * case.clients
    own, edges = metropolis(neighbours)
    for of_round in rows:
        trained, losses = zip(*(plain_steps(case, data, *client) for client in zip(models, of_round)))
        models = [
            {name: own[i] * trained[i][name] + sum(w * trained[j][name] for j, w in around) for name in model}
            for i, around in enumerate(list(zip(*client)) for client in zip(neighbours, edges))
        ]
    return {name: np.stack([of_client[name] for of_client in models]) for name in model}, np.mean(losses)


def plain_steps(case, data, model, rows):
    """The model of a client after its steps on the batches `rows`, [K, B], and its mean loss."""
    velocity, losses = {name: 0.0 for name in model}, []
    for of_step in rows:
        loss, gradient = plain_gradient(model, data.inputs[of_step], data.targets[of_step])
        velocity = {name: case.momentum * velocity[name] + gradient[name] for name in model}
        model = {name: values - case.rate * velocity[name] for name, values in model.items()}
        losses.append(loss)
    return model, np.mean(losses)


def plain_gradient(model, inputs, targets):
    """The mean loss of a dense network over a batch, and its gradient."""
    outputs, last = [inputs * (2 / 255) - 1], len(model) // 2 - 1
    for n in range(last + 1):
        hidden = outputs[-1] @ model[f"layers.{n}.weight"] + model[f"layers.{n}.bias"]
        outputs.append(hidden if n == last else np.maximum(hidden, 0))
    logits, places = outputs.pop(), np.arange(len(targets))
    exponentials = np.exp(logits - logits.max(1, keepdims=True))
    shares = exponentials / exponentials.sum(1, keepdims=True)
    loss = -np.log(shares[places, targets]).mean()
    back, gradient = shares, {}
    back[places, targets] -= 1
    back /= len(targets)
    for n in range(last, -1, -1):
        gradient[f"layers.{n}.weight"] = outputs[n].T @ back
        gradient[f"layers.{n}.bias"] = back.sum(0)
        back = (back @ model[f"layers.{n}.weight"].T) * (outputs[n] > 0)
    return loss, gradient


def jax_rounds(impl, case, data, neighbours, model, rows):
    training = jax_rival.Training(case, impl, data, neighbours)
    state, round_of = training.start(model), jax_rival.jax.jit(training.round)
    for of_round in rows:
        state, loss = round_of((training.inputs, training.targets), state, of_round)
    return {name: np.asarray(stack) for name, stack in state[0].items()}, float(loss)


def torch_rounds(impl, case, data, neighbours, model, rows):
    arrays = torch_rival.tensors(data)
    training = torch_rival.RIVALS[impl](case, arrays, torch_rival.Mixing(neighbours), model)
    for of_round in torch.from_numpy(rows).long():
        loss = training.round(of_round)
    return training.models(), loss.item()


def implementations(case):
    """Every implementation of a case, that which the others are held against first."""
    torches = [impl for impl in torch_rival.RIVALS if impl != "bmm" or case.model == "dense"]
    every = {f"PyTorch {impl}": functools.partial(torch_rounds, impl) for impl in torches}
    every |= {f"JAX {impl}": functools.partial(jax_rounds, impl) for impl in jax_rival.TRAINING}
    return {"NumPy": plain_rounds, **every} if case.model == "dense" else every


def distance(found, wanted):
    """The largest difference over all arrays, each in parts of its array's largest entry."""
    assert found.keys() == wanted.keys(), f"{sorted(found)} is not {sorted(wanted)}"
    return max(np.abs(found[name] - wanted[name]).max() / np.abs(wanted[name]).max() for name in wanted)


def check_rounds(case):
    """How many implementations of a case differ from the first after two rounds."""
    rng = np.random.default_rng(0)
    neighbours = regular_overlay(case.clients, case.degree, rng)
    data, model = synthetic(case, rng), initial(case, rng)
    drawn = rng.integers(case.samples, size=(2, case.clients, case.steps * case.batch))
    rows = np.take_along_axis(data.shards[None], drawn, axis=2).reshape(2, case.clients, case.steps, case.batch)
    (first, rounds), *others = implementations(case).items()
    wanted, wanted_loss = rounds(case, data, neighbours, model, rows)
    failed = 0
    for name, rounds in others:
        models, loss = rounds(case, data, neighbours, model, rows)
        apart = max(distance(models, wanted), abs(loss - wanted_loss) / wanted_loss)
        failed += told(f"{case.name} {name}: {apart:.1e} from {first}", apart < TOLERANCE)
    return failed


def check_precision(case):
    """How many programs that compare.sh runs differ too much, or not at all, where products take bfloat16."""
    rng = np.random.default_rng(0)
    neighbours = regular_overlay(case.clients, case.degree, rng)
    data, model = synthetic(case, rng), initial(case, rng)
    drawn = rng.integers(case.samples, size=(case.clients, case.steps * case.batch))
    rows = np.take_along_axis(data.shards, drawn, axis=1).reshape(1, case.clients, case.steps, case.batch)
    runs = {f"JAX {impl}": functools.partial(jax_rounds, impl) for impl in jax_rival.TRAINING}
    runs["PyTorch loop"] = functools.partial(torch_rounds, "loop")
    failed = 0
    for name, rounds in runs.items():
        of = (dataclasses.replace(case, precision=precision) for precision in ("f32", "bf16"))
        (wanted, _), (found, _) = (rounds(case, data, neighbours, model, rows) for case in of)
        apart = distance(found, wanted)
        failed += told(f"{case.name} {name}: bf16 {apart:.1e} from f32", TOLERANCE < apart < TOLERANCE_BF16)
    return failed


def check_mixing():
    """How many implementations of mixing differ from the product with the matrix in float64."""
    rng = np.random.default_rng(0)
    neighbours = regular_overlay(12, 5, rng)
    stack = rng.standard_normal((12, 33), dtype=np.float32)
    own, edges = metropolis(neighbours)
    wanted = np.stack([own[i] * stack[i] + edges[i] @ stack[neighbours[i]].astype(np.float64) for i in range(12)])
    mixed = {f"PyTorch {impl}": torch_rival.Mixing(neighbours, impl) for impl in torch_rival.MIXING}
    mixed = {name: mixing.of_array(torch.from_numpy(stack)).numpy() for name, mixing in mixed.items()}
    for impl in jax_rival.MIXING:
        mixed[f"JAX {impl}"] = np.asarray(jax_rival.Mixing(neighbours, impl).of_array(jax_rival.jnp.asarray(stack)))
    apart = {name: np.abs(found - wanted).max() for name, found in mixed.items()}
    return sum(told(f"w6 {name}: {far:.1e} from NumPy", far < TOLERANCE) for name, far in apart.items())


def check_losses(case):
    """How many programs have a loss that does not fall."""
    rng = np.random.default_rng(0)
    neighbours = regular_overlay(case.clients, case.degree, rng)
    data, model = synthetic(case, rng), initial(case, rng)
    runs = {"PyTorch loop": torch_rival.training(case, "loop", neighbours, rng)}
    runs["JAX map"] = jax_rival.Training(case, "map", data, neighbours).repeat(model)
    failed = 0
    for name, run in runs.items():
        first, *_, last = [float(run()) for _ in range(4)]
        failed += told(f"{case.name} {name}: loss {first:.3f}, then {last:.3f}", last < first)
    return failed


def told(what, holds):
    """Says whether a claim holds; 1 if it does not."""
    print(f"{'ok' if holds else 'FAILED'}: {what}", flush=True)
    return int(not holds)


def main():
    jax_rival.use_devices(2)
    torch.set_num_threads(1)  # more only wait for each other at these sizes
    torch.manual_seed(0)
    cases = [dataclasses.replace(CASES[name], **sizes) for name, sizes in SMALL.items()]
    checks = (check_rounds, check_losses, check_precision)
    failed = check_mixing() + sum(check(case) for case in cases for check in checks)
    sys.exit(f"{failed} failed" if failed else None)


if __name__ == "__main__":
    main()
