"""How long a round of W2 would take on a cluster, modelled: a table in Markdown and a figure.

    python benches/cluster_model.py RECORDS --meshfold PROGRAM [--svg FILE] [--page FILE] [--clients N ...] [--ranks N ...]
                                    [--cores N] [--latency S] [--bandwidth BYTES] [--efficiency F]
    python benches/cluster_model.py --work STEP MODEL NEIGHBOUR --meshfold PROGRAM ...

RECORDS are those of `benches/ranks.sh`: the time of a client's local step and of mixing are measured ones of this machine.
`--work` gives those of another one: microseconds of a core for a step, for mixing a model, and for each of its neighbours. What
ranks send each other comes from `meshfold plan --ranks`. Latency and bandwidth of the network, and the cores of a rank, are
assumed: by default each rank is alone on a machine of 32 such cores, in a network of 100 Gb/s of which 90 % carry
parameters, with a latency of 2 µs. Nothing here was run on a cluster.

A round takes the local steps of the rank that has most clients, the mixing of its models, and its messages, one after the
other: that some models are mixed while others are on their way is not counted in its favour. A rank sends at most one message
to each other one. Rows are level, so that each rank sends about its share of all bytes.
"""

import argparse
import json
import math
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ranks import Link, milliseconds, of_case, read, seconds
from svg_lines import Panel, figure

STEPS = 30

# The D-Cliques of ten clients each are joined as a small world: joining all pairs would take a number of edges that grows with
# the square of the cliques.
OVERLAYS = {
    "ring": "ring",
    "3-regular": "{regular: {degree: 3}}",
    "exponential": "exponential",
    "D-Cliques": "{d_cliques: {max_clique_size: 10, swaps: 0, inter: small_world}}",
}

# Models of one parameter, so that a small machine plans as many clients: what is sent grows with the parameters.
EXPERIMENT = """\
name: cluster
dataset: {{consensus: {{examples: {clients}}}}}
partition: {{iid: {{clients: {clients}}}}}
topology: {topology}
model: {{linear: {{targets: value, bias: false}}}}
algorithm: {{dfedavgm: {{batch_size: 1, learning_rate: 0.01}}}}
rounds: 1
"""
BEGIN, END = "<!-- model -->", "<!-- end -->"
ALIGNMENT = 64  # floats that a block of parameters is a multiple of


@dataclass(frozen=True)
class Work:
    """Seconds of one core: of a client's local step, and of mixing a model with itself and a number of neighbours."""

    step: float
    model: float
    neighbour: float

    @classmethod
    def measured(cls, records):
        """Two cores worked side by side when it was measured."""
        local = of_case(records["local"], "w2", 2)[0]
        step = 2 * median(seconds(record) for record in of_case(records["local"], "w2", 2)) / (local["clients"] * STEPS)
        few, many = records["mixing w6, degree 3"], records["mixing w6"]
        of_model = [2 * median(map(seconds, found)) / found[0]["clients"] for found in (few, many)]
        degrees = [found[0]["degree"] for found in (few, many)]
        neighbour = max(of_model[1] - of_model[0], 0.0) / (degrees[1] - degrees[0])
        return cls(step, max(of_model[0] - degrees[0] * neighbour, 0.0), neighbour)

    def round(self, clients, degree, cores):
        """Seconds of local steps and of mixing on a rank; each client works on one core."""
        at_once = math.ceil(clients / cores)
        return at_once * STEPS * self.step, at_once * (self.model + degree * self.neighbour)


@dataclass(frozen=True)
class Cut:
    """What a plan says of a run over ranks: models on the rank that has most, cut edges, and models sent by all ranks."""

    most_rows: int
    edges: int
    degree: float
    sent_models: float

    @classmethod
    def planned(cls, program, path, ranks):
        words = [program, "plan", path, "--ranks", str(ranks), "--json"]
        plan = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        over = plan["over_ranks"]
        return cls(
            over["most_rows"],
            over["cut_edges"],
            plan["overlay"]["degree"]["mean"],
            over["bytes_per_exchange"] / (4 * padded(1)),
        )


def padded(floats):
    return -(-floats // ALIGNMENT) * ALIGNMENT


def w2_bytes():
    """Of a model of W2 on its way."""
    return 4 * sum(map(padded, (784 * 200, 200, 200 * 10, 10)))


@dataclass(frozen=True)
class Round:
    """Seconds of a round on a rank, and what lies between ranks."""

    clients: int
    overlay: str
    ranks: int
    cut: Cut
    steps: float
    mixing: float
    messages: float

    @property
    def seconds(self):
        return self.steps + self.mixing + self.messages


def model(work, link, cores, clients, overlay, cut, ranks):
    steps, mixing = work.round(cut.most_rows, cut.degree, cores)
    models = cut.sent_models / ranks
    messages = link.seconds(min(ranks - 1, models), models * w2_bytes())
    return Round(clients, overlay, ranks, cut, steps, mixing, messages)


def table(rounds):
    lines = [
        "| clients | overlay | ranks | cut edges | GB of all ranks | steps, ms | mixing, ms | messages, ms | round, ms | steps |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for found in rounds:
        gigabytes = found.cut.sent_models * w2_bytes() / 1e9
        sent = f"{gigabytes:,.0f}" if gigabytes >= 100 else f"{gigabytes:.3g}"
        parts = " | ".join(map(milliseconds, (found.steps, found.mixing, found.messages, found.seconds)))
        lines.append(
            f"| {found.clients:,} | {found.overlay} | {found.ranks} | {found.cut.edges:,} | {sent} | {parts} | "
            f"{found.steps / found.seconds:.0%} |"
        )
    return "\n".join(lines)


def draw(rounds, caption):
    panels = []
    for clients in sorted({found.clients for found in rounds}):
        of_panel = [found for found in rounds if found.clients == clients]
        lines = {
            overlay: [(found.ranks, found.seconds) for found in of_panel if found.overlay == overlay]
            for overlay in OVERLAYS
        }
        lines["local steps alone"] = [(found.ranks, found.steps) for found in of_panel if found.overlay == "ring"]
        panels.append(Panel(f"{clients:,} clients", lines))
    return figure(panels, "ranks", "seconds a round (modelled)", caption)


def put_into(page, text):
    before, _, rest = page.read_text().partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{page} has no lines {BEGIN} and {END} around the table")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{end}{after}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="?", help="records of benches/ranks.sh")
    own = ("STEP", "MODEL", "NEIGHBOUR")
    parser.add_argument("--work", type=float, nargs=3, metavar=own, help="in place of records: microseconds of one core")
    parser.add_argument("--meshfold", required=True, help="the program that plans")
    parser.add_argument("--svg", help="where to draw the figure")
    parser.add_argument("--page", help="a page that gets the table between its lines `<!-- model -->` and `<!-- end -->`")
    parser.add_argument("--clients", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--cores", type=int, default=32, help="of a rank (assumed)")
    parser.add_argument("--latency", type=float, default=2e-6, help="seconds of a message (assumed)")
    parser.add_argument("--bandwidth", type=float, default=12.5e9, help="bytes a second of a rank, each way (assumed)")
    parser.add_argument("--efficiency", type=float, default=0.9, help="share of the bandwidth for parameters (assumed)")
    asked = parser.parse_args()
    if (asked.records is None) == (asked.work is None):
        parser.error("give either records or --work")
    return asked


def main():
    asked = arguments()
    if asked.work:
        work = Work(*(microseconds / 1e6 for microseconds in asked.work))
    else:
        work = Work.measured(read(asked.records))
    link = Link(asked.latency, asked.bandwidth * asked.efficiency)
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.yaml"
        for clients in asked.clients:
            for overlay, topology in OVERLAYS.items():
                path.write_text(EXPERIMENT.format(clients=clients, topology=topology))
                for ranks in asked.ranks:
                    cut = Cut.planned(asked.meshfold, path, ranks)
                    rounds.append(model(work, link, asked.cores, clients, overlay, cut, ranks))
    network = f"{8 * asked.bandwidth / 1e9:g} Gb/s of which {asked.efficiency:.0%} are used, {1e6 * asked.latency:g} µs"
    assumed = f"{asked.cores} cores a rank, {network}"
    text = (
        f"Modelled. By measurement: {1e6 * work.step:.3g} µs a local step and core, {1e6 * work.model:.3g} µs and "
        f"{1e6 * work.neighbour:.3g} µs a neighbour to mix a model. Assumed: {assumed}."
    )
    text = f"{text}\n\n{table(rounds)}\n"
    print(text)
    if asked.page:
        put_into(Path(asked.page), text)
    if asked.svg:
        Path(asked.svg).write_text(draw(rounds, f"Modelled, not measured; assumed: {assumed}"))


if __name__ == "__main__":
    main()
