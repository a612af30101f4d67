"""What the command line of a rival takes, how it is timed, and the record that it prints, one line of JSON.

A program uses the cores that it may use: `taskset -c 0,1 python jax_rival.py w2` has two.
"""

import argparse
import dataclasses
import json
import os
import resource
import statistics
import time

import numpy as np

from workloads import CASES, MIXED, flop_per_step, initial


def cores():
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def command_line(description, training, mixing=(), precisions=("f32",)):
    """The case with what differs from its usual shape, and the other arguments. `training` and `mixing` name the
    implementations; the first of them is the default. `precisions` are those that it has, of what products multiply."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("case", choices=sorted(case.name for case in CASES.values() if mixing or case.steps))
    parser.add_argument("--impl", choices=(*training, *mixing))
    sizes = ("clients", "degree", "batch", "steps", "samples", "rounds")
    for size in sizes:
        parser.add_argument(f"--{size}", type=int)
    parser.add_argument("--precision", choices=precisions, default="f32", help="of what products multiply")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--repeat", type=int, default=5, help="timed repeats")
    parser.add_argument("--warmup", type=int, default=1, help="untimed repeats before")
    args = parser.parse_args()
    case = CASES[args.case]
    choices = training if case.steps else mixing
    args.impl = args.impl or choices[0]
    if args.impl not in choices:
        parser.error(f"{args.case} takes --impl {', '.join(choices)}")
    given = {size: getattr(args, size) for size in sizes if getattr(args, size) is not None}
    return dataclasses.replace(case, precision=args.precision, **given), args


@dataclasses.dataclass
class Timing:
    """Losses of all repeats; seconds by the clock and of the processor of the timed ones."""

    losses: list
    seconds: list
    cpu_seconds: list


def timed(repeat, args):
    """Calls `repeat`, which returns a loss once its work is done, as often as the command line says."""
    timing = Timing([], [], [])
    for index in range(args.warmup + args.repeat):
        cpu, start = time.process_time(), time.perf_counter()
        timing.losses.append(repeat())
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        if index >= args.warmup:
            timing.seconds.append(seconds)
            timing.cpu_seconds.append(cpu)
    return timing


def significant(value):
    """Five significant digits."""
    return float(f"{value:.5g}")


def spread(values):
    """Median, least and most."""
    return {key: significant(of(values)) for key, of in (("median", statistics.median), ("min", min), ("max", max))}


def report(case, args, timing, framework, version):
    """Prints the record of a case."""
    cpu = max(min(timing.cpu_seconds), 1e-9)
    record = {"impl": args.impl, "framework": framework, "version": version, "device": args.device, "threads": cores()}
    record |= {"case": case.name, "precision": case.precision, "repeat": args.repeat, "warmup": args.warmup}
    record |= {size: getattr(case, size) for size in ("clients", "degree", "batch", "steps", "samples", "rounds")}
    record |= {"seconds": spread(timing.seconds), "cpu_s": significant(cpu)}
    median = record["seconds"]["median"]
    if case.steps:
        steps = case.clients * case.steps * case.rounds
        flop = flop_per_step(case)
        record["params"] = sum(values.size for values in initial(case, np.random.default_rng(0)).values())
        record["client_steps_per_s"] = spread([steps / seconds for seconds in timing.seconds])
        record["client_steps_per_cpu_s"] = significant(steps / cpu)
        record["gflop_per_client_step"] = significant(flop / 1e9)
        record["gflops"] = significant(steps * flop / median / 1e9)
        record["loss_first"], record["loss_last"] = significant(timing.losses[0]), significant(timing.losses[-1])
    else:
        stack = 4 * case.clients * MIXED * case.rounds
        record["params"] = MIXED
        record["gbps_read_once"] = significant(2 * stack / median / 1e9)
        record["gbps_per_edge"] = significant((case.degree + 2) * stack / median / 1e9)
    record["peak_rss_mib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(record), flush=True)
