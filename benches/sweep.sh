#!/usr/bin/env bash
# What a tiny run of a sweep costs: in one process, as a process of its own, and as jobs of a real Slurm on this machine.
#
#   benches/sweep.sh [--quick] [--runs N] [--single N]
#
# N runs (1000) of two rounds that hardly train go on in one process, and once more in four jobs of Slurm. Of them, the first
# --single (100) are also a process each, and a job each. The Slurm is that of .ci/slurm-cluster: Debian's, two nodes of two cores
# on this machine, looking for work every two seconds; it needs root. Without one, the rows of Slurm are left out.
# It prints a table in Markdown and takes about three minutes on a quiet machine of two cores; --quick takes 40 and 5 runs.
# MESHFOLD names a program that is built already.
set -euo pipefail
shopt -s inherit_errexit

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }

runs=1000 single=100
while [ $# -gt 0 ]; do
    case $1 in
        --quick) runs=40 single=5 ;;
        --runs | --single)
            [ $# -ge 2 ] || usage
            declare "${1#--}=$2"
            shift
            ;;
        *) usage ;;
    esac
    shift
done
for number in "$runs" "$single"; do [[ $number =~ ^[1-9][0-9]*$ ]] || usage; done
[ "$single" -le "$runs" ] || usage
cd "$(dirname "$0")/.."
program=${MESHFOLD:-}
if [ -z "$program" ]; then
    cargo build --quiet --release --locked -p meshfold
    program=${CARGO_TARGET_DIR:-target}/release/meshfold
fi
program=$(realpath "$program")

# Prints what the sweep of the file $1 would be with $2 runs.
sweep() {
    cat <<YAML
name: $1
dataset: {glyphs: {train: 100, test: 10}}
partition: {iid: {clients: 4}}
topology: ring
model: logistic
algorithm: {dsgd: {batch_size: 5, learning_rate: 0.1}}
rounds: 2
evaluate: {every: 2}
sweep: {grid: {seed: [$(seq -s ', ' "$2")]}}
YAML
}
# The seconds that the words take.
took() {
    local start=$EPOCHREALTIME
    "$@" >"$folder/took.txt" 2>&1 || { cat "$folder/took.txt" >&2; exit 1; }
    awk "BEGIN { print $EPOCHREALTIME - $start }"
}
row() { awk -v what="$1" -v runs="$2" -v s="$3" 'BEGIN { printf "| %s | %d | %.1f | %.0f ms |\n", what, runs, s, 1000 * s / runs }'; }
# A run is finished in the results $1 of the sweep $2, $3 times.
expect_finished() {
    local found
    found=$("$program" status "$1/$2" --json | grep -c '"state":"finished"' || true)
    [ "$found" = "$3" ] || { echo "sweep: $found of $3 runs in $1 are finished" >&2; exit 1; }
}

ready=""
if [ "$(id -u)" = 0 ] && { command -v slurmctld && command -v munged; } >/dev/null; then
    . .ci/slurm-cluster
    start_cluster 1001 17817
    ready=yes
else
    folder=$(mktemp -d -t meshfold-sweep-XXXXXX)
    trap 'rm -rf "$folder"' EXIT
fi
cd "$folder"
sweep many "$runs" >many.yaml
sweep few "$single" >few.yaml

each_alone() { for seed in $(seq "$single"); do "$program" run few.yaml --set sweep=null --set seed="$seed" --results alone --quiet; done; }
is_empty() { [ -z "$(squeue --me --noheader)" ]; }
in_jobs() {
    "$program" submit "$1.yaml" --results "$2" --cpus 1 --jobs "$3"
    until is_empty; do sleep 0.1; done
}

echo "| | runs | seconds | a run |"
echo "|---|---|---|---|"
seconds=$(took "$program" run many.yaml --results together --threads 2 --quiet)
expect_finished together many "$runs"
row "\`meshfold run\`: one process, two threads" "$runs" "$seconds"
alone=$(took each_alone)
expect_finished alone few "$single"
row "\`meshfold run\`: a process for each run, one after the other" "$single" "$alone"
[ -n "$ready" ] || { echo "sweep: there is no Slurm, or no right to start one" >&2; exit 0; }
seconds=$(took in_jobs many jobs 4)
expect_finished jobs many "$runs"
row "\`meshfold submit --cpus 1 --jobs 4\`, with the report" "$runs" "$seconds"
seconds=$(took in_jobs few single "$single")
expect_finished single few "$single"
row "\`meshfold submit --cpus 1 --jobs $single\`: a job for each run, four at a time" "$single" "$seconds"
# Of the seconds of the jobs, those of the scheduler and of the script: the others are the program's.
of_scheduler=$(awk "BEGIN { print $seconds - $alone / 2 }")
row "the same without the time of the program itself on two cores" "$single" "$of_scheduler"
