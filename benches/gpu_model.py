"""How long a GPU would take for a local step, modelled from what `meshfold-bench` counts: `python benches/gpu_model.py --bench PROGRAM`.

PROGRAM is meshfold-bench with GPU support. It counts the launches of each kernel and the bytes that it must move, and runs none: software
Vulkan does. A kernel takes its launches or its bytes, whichever is more; all kernels of a step follow each other:

    seconds = Σ max(launches · latency, bytes / bandwidth)      and at least  operations / rate

Bandwidth, rate and latency are assumed for each GPU: a share of what its maker says, and what a launch through wgpu costs. That few units
in flight may leave a GPU waiting is not in the model.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass

# Clients of the workloads, and how many of them are counted: software Vulkan holds no more.
WORKLOADS = {"w1": (1000, 1000), "w2": (100, 100), "w3": (200, 100), "w4": (100, 20), "w5": (100, 10)}


@dataclass(frozen=True)
class Gpu:
    """Bytes and operations a second that kernels reach, and seconds of a launch."""

    name: str
    bandwidth: float
    rate: float
    latency: float


# 80 % of the bandwidth and 50 % of the f32 rate of the data sheets.
GPUS = (
    Gpu("NVIDIA H200", 0.8 * 4.8e12, 0.5 * 67e12, 5e-6),
    Gpu("NVIDIA H100 SXM", 0.8 * 3.35e12, 0.5 * 67e12, 5e-6),
    Gpu("NVIDIA RTX 4090", 0.8 * 1.008e12, 0.5 * 82.6e12, 5e-6),
)


def trace(bench, device, case):
    """What `meshfold-bench` counts of a local step of all clients: bytes and operations go with their number, launches do not."""
    clients, counted = WORKLOADS[case]
    words = [bench, case, "--clients", str(counted), "--device", device, "--trace", "--json"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    found = json.loads(done.stdout)
    for kernel in found["parts"][0]["kernels"]:
        kernel["bytes_read"] *= clients / counted
        kernel["bytes_written"] *= clients / counted
    found["gflop_of_a_step"] *= clients / counted
    found["clients"] = clients
    return found


def moved(kernel):
    return kernel["bytes_read"] + kernel["bytes_written"]


def modelled(gpu, of_step):
    """Seconds of a step, and what bounds most of it."""
    *kernels, _ = of_step["parts"][0]["kernels"]
    launches = [kernel["launches"] * gpu.latency for kernel in kernels]
    memory = [moved(kernel) / gpu.bandwidth for kernel in kernels]
    arithmetic = of_step["gflop_of_a_step"] * 1e9 / gpu.rate
    in_turn = sum(map(max, launches, memory))
    bounds = {"launches": sum(launches), "memory": sum(memory), "arithmetic": arithmetic}
    return max(in_turn, arithmetic), max(bounds, key=bounds.get)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="meshfold-bench, built with GPU support")
    parser.add_argument("--device", default="wgpu")
    args = parser.parse_args()
    traces = [trace(args.bench, args.device, case) for case in WORKLOADS]
    print("| workload | clients | launches | MiB | GFLOP |" + "".join(f" {gpu.name}, ms a step |" for gpu in GPUS))
    print("|---|---|---|---|---|" + "---|" * len(GPUS))
    for of_step in traces:
        total = of_step["parts"][0]["kernels"][-1]
        row = f"| {of_step['case'].upper()} | {of_step['clients']:,} | {total['launches']:.3g} | {moved(total) / 2**20:,.0f} | "
        row += f"{of_step['gflop_of_a_step']:.3g} |"
        for gpu in GPUS:
            seconds, bound = modelled(gpu, of_step)
            row += f" {1e3 * seconds:.3g} ({bound}) |"
        print(row)


if __name__ == "__main__":
    main()
