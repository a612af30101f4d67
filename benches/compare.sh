#!/usr/bin/env bash
# Runs Meshfold and its rivals alternately on the same workloads, so that other tenants of the machine disturb all alike,
# and prints what they did and the ratios.
#
#   benches/compare.sh [CASE...] [--threads T] [--rounds R] [--repeat N] [--precision P] [--records FILE]
#
# CASE is w1 to w6 (default: all). Each of R rounds (3) runs every program once, with T threads (all cores), N timed repeats
# (3) and one untimed, and measures the ceilings of the machine. P is what products multiply, f32 (the default) or bf16:
# PyTorch by its autocast, JAX with all that layers hand on rounded; W6 has no products. FILE keeps the records, one JSON
# object a line. The rivals are those of benches/rivals, for the Python that PYTHON names (default: that of
# benches/rivals/env, which benches/rivals/setup.sh makes, else `python`): what it lacks is left out. MESHFOLD_BENCH names
# a program that is built already. It ends with 1 if Meshfold failed, or if programs did other work than each other.
set -euo pipefail
shopt -s inherit_errexit

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }

threads=$(nproc) rounds=3 repeat=3 precision=f32 records="" cases=()
while [ $# -gt 0 ]; do
    case $1 in
        --threads | --rounds | --repeat | --precision | --records)
            [ $# -ge 2 ] || usage
            declare "${1#--}=$2"
            shift
            ;;
        w[1-6]) cases+=("$1") ;;
        *) usage ;;
    esac
    shift
done
[[ $precision =~ ^(f32|bf16)$ ]] || usage
for number in "$threads" "$rounds" "$repeat"; do [[ $number =~ ^[1-9][0-9]*$ ]] || usage; done
[ ${#cases[@]} -gt 0 ] || cases=(w1 w2 w3 w4 w5 w6)
if [ -n "$records" ]; then : >"$records"; else records=$(mktemp); trap 'rm -f "$records"' EXIT; fi
records=$(realpath "$records")
here=$(cd "$(dirname "$0")" && pwd)
rivals=$here/rivals

bench=${MESHFOLD_BENCH:-}
if [ -z "$bench" ]; then
    (cd "$here" && cargo build --quiet --release --workspace --locked --bin meshfold-bench)
    bench=${CARGO_TARGET_DIR:-$here/../target}/release/meshfold-bench
fi

python=${PYTHON:-}
if [ -z "$python" ]; then
    python=python
    [ ! -x "$rivals/env/bin/python" ] || python=$rivals/env/bin/python
fi
has() { command -v "$python" >/dev/null && "$python" -c "import $1" 2>/dev/null; }
missing() { echo "$1 is missing for $python: left out (benches/rivals/setup.sh installs it)" >&2; }
jax=false torch=false ceilings=false
if has jax; then jax=true; else missing JAX; fi
if has torch; then torch=true; else missing PyTorch; fi
if has numpy; then ceilings=true; else missing "NumPy, which the ceilings need,"; fi

# Runs a program and keeps its records, marked with case and round; one that fails is told and left out.
keep() {
    local case=$1 round=$2 line
    shift 2
    echo "round $round: $*" >&2
    { timeout 900 "$@" || echo "failed: $*" >&2; } | while IFS= read -r line; do
        [[ $line == \{* ]] && printf '{"of": "%s", "round": %d, "record": %s}\n' "$case" "$round" "$line" >>"$records"
    done || true
}
# All programs use the cores that they may use, which are the first T.
cores=$(taskset -cp $$ 2>/dev/null | sed 's/.*: //' | tr ',' '\n' |
    awk -F- -v most="$threads" '{ for (c = $1; c <= ($2 == "" ? $1 : $2) && n < most; c++) printf "%s%d", n++ ? "," : "", c }')
pinned=()
[ -n "$cores" ] && pinned=(taskset -c "$cores")

of_jax() { "$jax" && keep "$1" "$2" "${pinned[@]}" "$python" "$rivals/jax_rival.py" "$1" "${same[@]}" "${@:3}" || true; }
of_torch() { "$torch" && keep "$1" "$2" "${pinned[@]}" "$python" "$rivals/torch_rival.py" "$1" "${same[@]}" "${@:3}" || true; }

started=$(date -u +%FT%TZ)
for case in "${cases[@]}"; do
    same=(--repeat "$repeat" --precision "$precision")
    # A rival takes half a second for a step of W5: fewer clients, of ours too.
    [ "$case" = w5 ] && same+=(--clients 20)
    for round in $(seq "$rounds"); do
        keep "$case" "$round" "${pinned[@]}" "$bench" "$case" --threads "$threads" "${same[@]}"
        if [ "$case" = w6 ]; then
            of_jax "$case" "$round" --impl gather
            of_torch "$case" "$round" --impl csr
            of_torch "$case" "$round" --impl gather
        else
            of_jax "$case" "$round" --impl map
            of_jax "$case" "$round" --impl vmap
            of_torch "$case" "$round" --impl loop
        fi
        "$ceilings" && keep "$case" "$round" "${pinned[@]}" "$python" "$rivals/ceilings.py" --repeat 3
    done
done

# Rivals may be left out, but not what all are compared with.
failed=0
for case in "${cases[@]}"; do
    found=$(grep -c "^{\"of\": \"$case\".*\"framework\":\"meshfold\"" "$records" || true)
    [ "$found" = "$rounds" ] || { echo "Meshfold has records of $found of $rounds rounds of $case" >&2; failed=1; }
done

commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$here" status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit with changes"
cat <<END
Commit $commit, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $threads threads of $(nproc) cores, $started to $(date -u +%FT%TZ),
products in $precision, $rounds rounds of $repeat repeats. Medians over the rounds; in brackets the least and the most of all repeats.

END
if ! command -v "$python" >/dev/null; then
    echo "no $python to make a table with; the records:"
    cat "$records"
    exit "$failed"
fi
"$python" - "$records" <<'PYTHON'
"""Prints a table of the records: a rate by the clock and by the processor's time, beside ours and beside the ceiling."""
import collections
import json
import statistics
import sys

runs, ceilings = collections.defaultdict(list), collections.defaultdict(list)
for line in open(sys.argv[1]):
    kept = json.loads(line)
    record = kept["record"]
    if "what" in record:
        ceilings[kept["of"], record["unit"], record["what"].split()[0], record["backend"]].append(record)
    else:
        runs[kept["of"], record["framework"], record["impl"]].append(record)


SHAPE = ("clients", "batch", "steps", "degree")
for case in {case for case, _, _ in runs}:
    of_case = [record for (of, _, _), records in runs.items() if of == case for record in records]
    if len(shapes := {tuple(record[key] for key in SHAPE) for record in of_case}) > 1:
        sys.exit(f"{case}: programs did other work than each other: {', '.join(SHAPE)} are {sorted(shapes)}")


def rates(record):
    """Median, least and most by the clock, and the rate by the processor's time."""
    if "client_steps_per_s" in record:
        by_clock = record["client_steps_per_s"]
        return [by_clock[key] for key in ("median", "min", "max")] + [record["client_steps_per_cpu_s"]]
    gigabytes = record["gbps_read_once"] * record["seconds"]["median"]
    seconds = [record["seconds"][key] for key in ("median", "max", "min")]
    return [gigabytes / max(s, 1e-9) for s in seconds + [record["cpu_s"]]]


def summary(records):
    medians, least, most, by_cpu = zip(*map(rates, records))
    return statistics.median(medians), min(least), max(most), statistics.median(by_cpu)


def ceiling(case, unit, what):
    """The best backend's median, by the clock and by the processor's time."""
    found = [records for (of, u, w, _), records in ceilings.items() if (of, u, w) == (case, unit, what)]
    medians = lambda key: [statistics.median(r[key] for r in records) for records in found]
    return (max(medians("median")), max(medians("per_cpu_s"))) if found else None


def figure(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


print("| workload | program | by the clock | per CPU second | ours is, by the clock | by CPU second | GFLOP/s (W6: GB/s) | of the ceiling |")
print("|---|---|---|---|---|---|---|---|")
for (case, framework, impl), records in runs.items():
    median, least, most, by_cpu = summary(records)
    ours = runs.get((case, "meshfold", "meshfold"))
    if framework == "meshfold" or not ours:
        ratios = ["", ""]
    else:
        mine = summary(ours)
        ratios = [f"{mine[0] / median:.2f} ×", f"{mine[3] / by_cpu:.2f} ×"]
    mixing = "client_steps_per_s" not in records[0]
    work = 1.0 if mixing else records[0]["gflop_per_client_step"]
    top = ceiling(case, "GB/s", "copy") if mixing else ceiling(case, "GFLOP/s", "gemm")
    share = f"{median * work / top[0]:.0%} of {figure(top[0])}; {by_cpu * work / top[1]:.0%} of {figure(top[1])} per CPU second" if top else "not measured"
    unit = "GB/s" if mixing else "client steps/s"
    name = "Meshfold" if framework == "meshfold" else f"{framework} {records[0]['version']} {impl}"
    print(f"| {case.upper()}, {unit} | {name} | {figure(median)} ({figure(least)}-{figure(most)}) | {figure(by_cpu)} | "
          f"{ratios[0]} | {ratios[1]} | {figure(median * work)} | {share} |")
PYTHON
exit "$failed"
