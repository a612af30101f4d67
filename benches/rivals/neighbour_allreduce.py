"""One exchange of models over an overlay as BlueFog does it, beside Meshfold's.

    python neighbour_allreduce.py --bench PROGRAM [--clients N ...] [--degree D] [--rounds R] [--repeat N] [--passes N]

BlueFog has a process of MPI for each client. Its `neighbor_allreduce` of a tensor gathers the neighbours' tensors (MPI's
`Neighbor_allgather` on a communicator that knows the overlay) and adds them up with their weights; an optimizer calls it for each
parameter tensor of the model. This does the same with mpi4py and NumPy, for the four tensors of an MLP 784-200-10 (159,010
parameters), and once more with all parameters in one tensor (`fused`), as BlueFog does with small ones. PROGRAM is `meshfold-bench`
with the feature `mpi`: it mixes models of the same size over a random regular overlay of the same degree, with a rank for each
client as well, over two ranks of one thread, and in one process of two threads.

Needs mpi4py and NumPy (requirements-mpi.txt) and an `mpirun`. Each pass runs all programs one after the other.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from statistics import median

TENSORS = ((784, 200), (200,), (200, 10), (10,))
PARAMETERS = sum(rows * (columns[0] if columns else 1) for rows, *columns in TENSORS)
IN_A_CONTAINER = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    # A process that waits lets others have its core: there are more processes than cores.
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class Neighbours:
    """The neighbours of this process in the overlay, and their Metropolis weights."""

    def __init__(self, degree):
        import numpy as np
        from mpi4py import MPI
        from workloads import metropolis, regular_overlay

        self.numpy, world = np, MPI.COMM_WORLD
        overlay = regular_overlay(world.size, degree, np.random.default_rng(0))
        own, weights = metropolis(overlay)
        self.own, self.weights = own[world.rank], weights[world.rank]
        nearby = [int(neighbour) for neighbour in overlay[world.rank]]
        self.graph = world.Create_dist_graph_adjacent(nearby, nearby)
        self.nearby = nearby
        self.received = {}

    def allreduce(self, name, tensor):
        """The weighted sum of `tensor` and those of the neighbours, in its place."""
        if name not in self.received:
            self.received[name] = self.numpy.empty((len(self.nearby), tensor.size), self.numpy.float32)
        received = self.received[name]
        self.graph.Neighbor_allgather(tensor, received)
        tensor *= self.own
        tensor += self.weights @ received

    def check(self):
        """One exchange is the product with the overlay's weights."""
        tensor = self.numpy.full(3, self.graph.rank, self.numpy.float32)
        self.allreduce("check", tensor)
        expected = self.own * self.graph.rank + sum(self.weights * self.nearby)
        if not self.numpy.allclose(tensor, expected):
            raise SystemExit(f"process {self.graph.rank} has {tensor[0]} in place of {expected}")


def client(asked):
    """One process of MPI: a client."""
    neighbours = Neighbours(asked.degree)
    neighbours.check()
    world, random = neighbours.graph, neighbours.numpy.random.default_rng(neighbours.graph.rank)
    sizes = [PARAMETERS] if asked.impl == "fused" else [rows * (rest[0] if rest else 1) for rows, *rest in TENSORS]
    model = [random.random(size, dtype=neighbours.numpy.float32) for size in sizes]
    times = []
    for _ in range(1 + asked.repeat):
        world.Barrier()
        start = time.perf_counter()
        for _ in range(asked.rounds):
            for name, tensor in enumerate(model):
                neighbours.allreduce(name, tensor)
        world.Barrier()
        times.append((time.perf_counter() - start) / asked.rounds)
    if world.rank == 0:
        print(json.dumps({"seconds": median(times[1:])}))


def over(processes, words):
    """The record of a program over so many processes."""
    started = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(processes), *words]
    return record(started if processes > 1 else words)


def record(words):
    done = subprocess.run(words, env={**os.environ, **IN_A_CONTAINER}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def measured(asked, clients):
    """Seconds of an exchange by program, once each."""
    rounds = ["--rounds", str(asked.rounds), "--repeat", str(asked.repeat)]
    own = [sys.executable, __file__, "--client", "--degree", str(asked.degree), *rounds]
    sizes = ["--clients", str(clients), "--degree", str(asked.degree), "--params", str(PARAMETERS)]
    ours = [asked.bench, "w6", *sizes, *rounds]

    def mixing(ranks, threads):
        found = over(ranks, [*ours, "--threads", str(threads)])
        return found["seconds"]["median"] / asked.rounds

    return {
        f"as BlueFog, {clients} processes, a tensor at a time": over(clients, [*own, "--impl", "tensor"])["seconds"],
        f"as BlueFog, {clients} processes, fused": over(clients, [*own, "--impl", "fused"])["seconds"],
        f"Meshfold, {clients} ranks": mixing(clients, 1),
        "Meshfold, 2 ranks of one thread": mixing(2, 1),
        "Meshfold, one process of 2 threads": mixing(1, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="meshfold-bench with the feature mpi")
    parser.add_argument("--clients", type=int, nargs="+", default=[4, 16, 32])
    parser.add_argument("--degree", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10, help="of a repeat")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--impl", choices=("tensor", "fused"), default="tensor", help=argparse.SUPPRESS)
    parser.add_argument("--client", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.client:
        client(asked)
        return
    if not asked.bench:
        parser.error("--bench PROGRAM is needed")
    print("| clients | program | ms an exchange of all models | against one process of Meshfold |\n|---|---|---|---|")
    for clients in asked.clients:
        times = defaultdict(list)
        for _ in range(asked.passes):
            for program, seconds in measured(asked, clients).items():
                times[program].append(seconds)
        best = median(times["Meshfold, one process of 2 threads"])
        for program, found in times.items():
            least, most = 1000 * min(found), 1000 * max(found)
            print(
                f"| {clients} | {program} | {1000 * median(found):.3g} ({least:.3g}-{most:.3g}) | "
                f"{median(found) / best:.3g} × |",
                flush=True,
            )


if __name__ == "__main__":
    main()
