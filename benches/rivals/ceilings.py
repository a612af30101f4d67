"""What the machine can do: the rate of a large matrix product and of a copy of more than its caches hold. One line of JSON
for each.

    taskset -c 0,1 python ceilings.py
"""

import argparse
import functools
import json
import statistics
import threading
import time

import numpy as np

from protocol import cores

try:
    import torch
except ImportError:
    torch = None

SIDE = 4096  # of the matrices


def measure(what, backend, unit, work, run, repeat):
    """Prints the rate at which `run` does `work` operations or bytes."""
    run()
    by_clock, by_cpu = [], []
    for _ in range(repeat):
        cpu, start = time.process_time(), time.perf_counter()
        run()
        by_clock.append(work / (time.perf_counter() - start) / 1e9)
        by_cpu.append(work / max(time.process_time() - cpu, 1e-9) / 1e9)
    rates = {"median": statistics.median(by_clock), "min": min(by_clock), "max": max(by_clock)}
    rates["per_cpu_s"] = statistics.median(by_cpu)
    record = {"what": what, "backend": backend, "unit": unit, "threads": cores()}
    print(json.dumps(record | {key: round(rate, 2) for key, rate in rates.items()}), flush=True)


def copy_in_threads(target, source):
    """Copies a share in a thread for each core: NumPy lets go of the interpreter meanwhile."""
    shares = zip(np.array_split(target, cores()), np.array_split(source, cores()))
    threads = [threading.Thread(target=np.copyto, args=share) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="timed repeats, after one untimed")
    parser.add_argument("--mib", type=int, default=256, help="size of an array that is copied")
    args = parser.parse_args()
    numbers, rng = args.mib * 2**18, np.random.default_rng(0)
    left, right, product = (rng.random((SIDE, SIDE), dtype=np.float32) for _ in range(3))
    source, target = np.ones(numbers, np.float32), np.ones(numbers, np.float32)

    def both(backend, multiply, copy):
        measure(f"gemm {SIDE}", backend, "GFLOP/s", 2 * SIDE**3, multiply, args.repeat)
        measure("copy (2 transfers)", backend, "GB/s", 8 * numbers, copy, args.repeat)

    both(f"numpy {np.__version__}", lambda: np.matmul(left, right, product), lambda: copy_in_threads(target, source))
    if torch is not None:
        torch.set_num_threads(cores())
        left, right, product, source, target = map(torch.from_numpy, (left, right, product, source, target))
        copy = functools.partial(target.copy_, source)
        both(f"torch {torch.__version__}", functools.partial(torch.mm, left, right, out=product), copy)


if __name__ == "__main__":
    main()
