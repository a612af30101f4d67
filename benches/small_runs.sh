#!/usr/bin/env bash
# What small runs of a sweep cost outside of their local steps, and what more threads than there are cores would do with a sweep.
#
#   benches/small_runs.sh [--quick] [--runs N]
#
# A run has 20 clients with 200 drawn digits each, 20 rounds of one epoch (200 local steps a round, of all clients), and is judged on
# 500 digits every five rounds: 0.05 s of the processor with a logistic model, 0.25 s with an MLP. N of them (1000) and 32 are carried
# out on one thread by `meshfold-bench threads`, which prints in Markdown how the time is spent and how long 2 to 16 threads would
# have nothing to do. `meshfold run` carries out the first 32 for comparison, with two threads, one at a time and side by side.
# It takes about ten minutes; --quick takes 40 runs. Nothing else should run: what keeps the thread waiting counts as the disk.
# MESHFOLD and MESHFOLD_BENCH name programs that are built already.
set -euo pipefail
shopt -s inherit_errexit

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }

runs=1000
while [ $# -gt 0 ]; do
    case $1 in
        --quick) runs=40 ;;
        --runs)
            [ $# -ge 2 ] || usage
            runs=$2
            shift
            ;;
        *) usage ;;
    esac
    shift
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || usage
cd "$(dirname "$0")/.."
program=${MESHFOLD:-} bench=${MESHFOLD_BENCH:-}
if [ -z "$program" ] || [ -z "$bench" ]; then
    cargo build --quiet --release --locked -p meshfold -p meshfold-bench
    built=${CARGO_TARGET_DIR:-target}/release
    program=${program:-$built/meshfold} bench=${bench:-$built/meshfold-bench}
fi
program=$(realpath "$program") bench=$(realpath "$bench")
folder=$(mktemp -d -t meshfold-small-XXXXXX)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Prints what the sweep of the file $1 would be with the model $2 and $3 runs.
sweep() {
    cat <<YAML
name: $1
dataset: {glyphs: {train: 4000, test: 500}}
partition: {shards: {clients: 20, per_client: 2}}
topology: {regular: {degree: 3}}
model: $2
algorithm: {dfedavgm: {local: {epochs: 1}, batch_size: 20, learning_rate: 0.05, momentum: 0.9}}
rounds: 20
evaluate: {every: 5}
sweep: {grid: {seed: [$(seq -s ', ' "$3")]}}
YAML
}
# The seconds on the clock and of the processor that the words take.
took() {
    local TIMEFORMAT='%R %U %S'
    { time "$@" >"$folder/took.txt" 2>&1; } 2>"$folder/seconds.txt" || { cat "$folder/took.txt" >&2; exit 1; }
    cat "$folder/seconds.txt"
}

for model in logistic '{mlp: {hidden: [100]}}'; do
    sweep few "$model" 32 >few.yaml
    sweep many "$model" "$runs" >many.yaml
    echo -e "\n### $model\n\n| \`meshfold run\` of 32, two threads | seconds | of the processor |\n|---|---|---|"
    for at_once in 1 2; do
        # Folders stay until the end: some file systems are slow at making files where others have just been removed.
        took "$program" run few.yaml --results "$at_once-${#model}" --threads 2 --at-once "$at_once" --quiet |
            awk -v at_once="$at_once" '{ printf "| %d at once | %.2f | %.2f |\n", at_once, $1, $2 + $3 }'
    done
    for file in few many; do
        echo
        "$bench" threads "$file.yaml"
    done
done
