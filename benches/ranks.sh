#!/usr/bin/env bash
# Two ranks of one thread beside one process of two threads, and four ranks on the same two cores. Ranks read each other's models in
# place; for comparison, and for a model of time, two ranks also send them as messages.
#
#   benches/ranks.sh [--quick] [--pairs N] [--records FILE]
#
# Needs two cores, OpenMPI and libclang (docs/ranks.md), and Python 3.10 or newer. Each of N passes (4) runs every workload
# in one process, over two ranks, over two that send messages, and over four, one after the other, so that other users of the machine disturb all alike.
# Then come the figures of a model of time: messages of several sizes between two ranks, local steps alone, mixing alone. Last,
# whole runs of `meshfold run`. It takes about six minutes on a quiet machine; --quick is one pass of shorter repeats, for
# a look at whether everything works.
# It prints tables in Markdown. FILE keeps the records, one JSON object a line; benches/ranks.py and benches/cluster_model.py
# read it. MESHFOLD_BENCH and MESHFOLD name programs that are built already with the feature `mpi`; PYTHON names a Python.
set -euo pipefail
shopt -s inherit_errexit

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }

quick="" pairs=4 records=""
while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=yes pairs=1 ;;
        --pairs | --records)
            [ $# -ge 2 ] || usage
            declare "${1#--}=$2"
            shift
            ;;
        *) usage ;;
    esac
    shift
done
[[ $pairs =~ ^[1-9][0-9]*$ ]] || usage
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
command -v mpirun >/dev/null || { echo "there is no mpirun: install OpenMPI, as docs/ranks.md says" >&2; exit 1; }

bench=${MESHFOLD_BENCH:-} program=${MESHFOLD:-}
if [ -z "$bench" ] || [ -z "$program" ]; then
    (cd "$here" && cargo build --quiet --release --locked -p meshfold -p meshfold-bench \
        --features meshfold/mpi,meshfold-bench/mpi --bin meshfold --bin meshfold-bench)
    built=${CARGO_TARGET_DIR:-$here/../target}/release
    bench=${bench:-$built/meshfold-bench} program=${program:-$built/meshfold}
fi
folder=$(mktemp -d -t meshfold-ranks-XXXXXX)
trap 'rm -rf "$folder"' EXIT
[ -n "$records" ] || records=$folder/records.jsonl
: >"$records"

# In a container: as root, more ranks than cores, and without reading the memory of another process unless the variable asks
# for it (cma). A rank that waits lets others have its core, or any other work on the machine would be felt many times over.
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=${OMPI_MCA_btl_vader_single_copy_mechanism:-none}
over() { mpirun --oversubscribe --bind-to none -n "$1" "${@:2}"; }
# Ranks whose address space has a limit send messages: they map no memory of others.
by_message() { (ulimit -v 4000000000 && over "$@"); }

# Keeps what the words after the first print, one JSON object, as a record of the kind that the first names.
keep() {
    local record
    record=$("${@:2}")
    printf '{"kind": "%s", "record": %s}\n' "$1" "$record" >>"$records"
}
repeats=(--repeat 5)
[ -z "$quick" ] || repeats=(--repeat 1)

# A workload and the rounds of a repeat, which takes about half a second.
pair() {
    local rounds=$2
    [ -z "$quick" ] || rounds=1
    local words=("$bench" "$1" --rounds "$rounds" "${repeats[@]}")
    if [ $((pass % 2)) = 0 ]; then
        keep pair "${words[@]}" --threads 2
        keep pair over 2 "${words[@]}" --threads 1
    else
        keep pair over 2 "${words[@]}" --threads 1
        keep pair "${words[@]}" --threads 2
    fi
    keep "pair by message" by_message 2 "${words[@]}" --threads 1
    keep pair over 4 "${words[@]}" --threads 1
}

# Local steps over two ranks that exchange nothing, and the mixing of a workload's models in one process of two threads.
parts() {
    local rounds=$2
    [ -z "$quick" ] || rounds=1
    [ "$1" = w6 ] || keep local over 2 "$bench" "$1" --degree 0 --rounds "$rounds" "${repeats[@]}" --threads 1
    keep "mixing $1" "$bench" w6 --clients "$3" --degree "$4" --params "$5" --rounds "$rounds" "${repeats[@]}" --threads 2
}

# Two ranks swap models of $1 clients with $2 neighbours and $3 parameters: by message, and without one, as they read them in place. All
# else is the same.
swap() {
    local words=("$bench" w6 --clients "$1" --degree "$2" --params "$3" --rounds "$4" "${repeats[@]}" --threads 1)
    keep swap by_message 2 "${words[@]}"
    keep "swap alone" over 2 "${words[@]}"
}

experiment() {
    cat >"$folder/$1.yaml" <<YAML
name: $1
dataset: {glyphs: {train: $(($2 * $3)), test: 100}}
partition: {iid: {clients: $2}}
topology: {regular: {degree: $4}}
model: $5
algorithm: {dfedavgm: {local: {steps: $6}, batch_size: $7, draw: with_replacement, learning_rate: 0.05, momentum: $8}}
rounds: $([ -z "$quick" ] && echo "$9" || echo 1)
evaluate: {every: 1000, examples: 10}
YAML
}

# A whole run: the seconds of its rounds, from its summary.
run_of() {
    local name=$1 ranks=$2 threads=$3 words
    words=("$program" run "$folder/$name.yaml" --results "$folder/results" --again --quiet --no-report --threads "$threads")
    if [ "$ranks" = 1 ]; then "${words[@]}" >/dev/null; else over "$ranks" "${words[@]}" >/dev/null; fi
    "$python" - "$name" "$ranks" "$folder/results/$name"/*/summary.json <<'PYTHON'
import json, sys

name, ranks, path = sys.argv[1:]
summary = json.load(open(path))
print(json.dumps({"case": name, "ranks": int(ranks), "rounds": summary["rounds"], "seconds": summary["seconds"]}))
PYTHON
}

for ((pass = 0; pass < pairs; pass++)); do
    pair w1 40
    pair w2 4
    pair w3 3
    pair w6 3
done
for ((pass = 0; pass < (pairs + 1) / 2; pass++)); do
    parts w1 40 1000 10 7850
    parts w2 4 100 3 159010
    parts w3 3 200 5 199210
    parts w6 3 1000 10 159010
    keep "mixing w6, degree 3" "$bench" w6 --degree 3 --rounds 3 "${repeats[@]}" --threads 2
    swap 4 2 64 2000
    swap 4 2 4096 500
    swap 4 2 65536 50
    swap 16 10 159010 20
    swap 64 10 159010 5
    swap 256 10 159010 2
done
mlp() { echo "{mlp: {hidden: $1}}"; }
experiment w1 1000 50 10 logistic 1 13 0 100
experiment w2 100 600 3 "$(mlp '[200]')" 30 20 0.9 10
experiment w3 200 300 5 "$(mlp '[200, 200]')" 5 50 0 10
for ((pass = 0; pass < (pairs + 1) / 2; pass++)); do
    for name in w1 w2 w3; do
        keep run run_of "$name" 1 2
        keep run run_of "$name" 2 1
    done
done
"$python" "$here/ranks.py" "$records"
