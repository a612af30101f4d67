"""The tables of `benches/ranks.sh` in Markdown, from the records that it keeps: `python benches/ranks.py RECORDS`.

The model of time has two figures of the messages between two ranks, their latency and their bandwidth (the alpha-beta model), and
the time of local steps and of mixing. A round of a rank takes the sum of all: that some models are mixed while others are on their
way is not counted in its favour.
"""

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from statistics import median

NOTHING = 1e-7  # seconds: a message takes no less, whatever a disturbed measurement says
WORKLOADS = ("w1", "w2", "w3", "w6")


def read(path):
    """The records of a file by their kind."""
    records = defaultdict(list)
    with open(path) as lines:
        for line in lines:
            kept = json.loads(line)
            records[kept["kind"]].append(kept["record"])
    return records


def seconds(record):
    """Seconds of a round."""
    return record["seconds"]["median"] / record["rounds"]


def of_case(records, case, ranks):
    return [record for record in records if record["case"] == case and record.get("ranks", 1) == ranks]


@dataclass(frozen=True)
class Link:
    """What a message costs: `latency` in seconds and `bandwidth` in bytes a second."""

    latency: float
    bandwidth: float

    def seconds(self, messages, size):
        """Of so many messages of a rank with so many bytes in all."""
        return messages * self.latency + size / self.bandwidth


def of_swaps(records):
    """Of each size of models: the bytes that two ranks send each other in one message, the seconds of a round with it, and of one
    without, in which they read in place."""
    by_message, alone = defaultdict(list), defaultdict(list)
    for kind, found in (("swap", by_message), ("swap alone", alone)):
        for record in records[kind]:
            found[record["clients"], record["params"]].append(record)
    return sorted(
        (found[0]["bytes_per_round_of_a_rank"], median(map(seconds, found)), median(map(seconds, alone[of])))
        for of, found in by_message.items()
    )


def swaps(records):
    """Pairs of the bytes of a message and the seconds that it takes; of the smallest, which hardly has any, those of the whole round."""
    (smallest, latency, _), *others = of_swaps(records)
    return [(smallest, latency), *((size, max(time - without, NOTHING)) for size, time, without in others)]


def link(records):
    """The latency is the time of the smallest message. The bandwidth makes the errors of messages from 1 MB on, where it
    counts, cancel out."""
    measured = swaps(records)
    latency = measured[0][1]
    large = [size / max(time - latency, NOTHING) for size, time in measured if size >= 1e6]
    return Link(latency, median(large))


def predicted(records, case, of_link):
    """Seconds of a round over two ranks that send messages, in three parts: local steps, mixing, messages."""
    messages = of_case(records["pair by message"], case, 2)[0]
    local = of_case(records["local"], case, 2)
    return (
        median(map(seconds, local)) if local else 0.0,
        median(map(seconds, records[f"mixing {case}"])),
        of_link.seconds(messages["messages_per_round_of_a_rank"], messages["bytes_per_round_of_a_rank"]),
    )


def ratios(first, second):
    """Of the seconds of each pair."""
    return [one / other for one, other in zip(first, second, strict=True)]


def spread(values, form):
    return f"{form(median(values))} ({form(min(values))}-{form(max(values))})"


def milliseconds(seconds):
    """Three digits of it."""
    return f"{1000 * seconds:,.0f}" if seconds >= 1 else f"{1000 * seconds:.3g}"


def ratio(value):
    return f"{value:.2f}"


def print_pairs(records):
    print(
        "| workload | one process, 2 threads, ms a round | 2 ranks, ms | ratio | 4 ranks on the 2 cores, ms | 2 ranks / 4 ranks | "
        "2 ranks by message, ms | ratio | MB a round between 2 ranks |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for case in WORKLOADS:
        alone, two, four = (of_case(records["pair"], case, ranks) for ranks in (1, 2, 4))
        by_message = of_case(records["pair by message"], case, 2)
        times = [list(map(seconds, found)) for found in (alone, two, four, by_message)]
        print(
            f"| {case.upper()} | {spread(times[0], milliseconds)} | {spread(times[1], milliseconds)} | "
            f"{spread(ratios(times[0], times[1]), ratio)} | {spread(times[2], milliseconds)} | "
            f"{spread(ratios(times[1], times[2]), ratio)} | {spread(times[3], milliseconds)} | "
            f"{spread(ratios(times[0], times[3]), ratio)} | {two[0]['bytes_per_round'] / 1e6:.4g} |"
        )


def print_runs(records):
    print("\n| `meshfold run` | one process, 2 threads, ms a round | 2 ranks, ms | ratio |\n|---|---|---|---|")
    for case in WORKLOADS[:-1]:
        of = [of_case(records["run"], case, ranks) for ranks in (1, 2)]
        times = [[record["seconds"]["rounds"] / record["rounds"] for record in found] for found in of]
        print(
            f"| {case.upper()} | {spread(times[0], milliseconds)} | {spread(times[1], milliseconds)} | {spread(ratios(*times), ratio)} |"
        )


def print_model(records):
    of_link = link(records)
    print(
        f"\nBetween two ranks: a latency of {1e6 * of_link.latency:.3g} µs and {of_link.bandwidth / 1e9:.3g} GB/s each way.\n"
    )
    print("| message | measured, ms | model, ms |\n|---|---|---|")
    for size, time in swaps(records):
        print(f"| {size / 1e6:.3g} MB | {milliseconds(time)} | {milliseconds(of_link.seconds(1, size))} |")
    print("\n| workload | local steps, ms | mixing, ms | messages, ms | predicted | measured | predicted / measured |")
    print("|---|---|---|---|---|---|---|")
    for case in WORKLOADS:
        parts = predicted(records, case, of_link)
        measured = median(map(seconds, of_case(records["pair by message"], case, 2)))
        cells = " | ".join(map(milliseconds, (*parts, sum(parts), measured)))
        print(f"| {case.upper()} | {cells} | {sum(parts) / measured:.2f} |")


def main():
    records = read(sys.argv[1])
    print_pairs(records)
    print_runs(records)
    print_model(records)


if __name__ == "__main__":
    main()
