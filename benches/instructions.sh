#!/usr/bin/env bash
# Counts the instructions of one local step of one client for each family of models, and compares them with the counts
# in instructions.json: a slower kernel shows on a busy machine too. More or less by over 5 % fails.
#
#   benches/instructions.sh            compares
#   benches/instructions.sh --record   writes the counts down
#
# The counts are those of the AVX2 kernels (valgrind knows no AVX-512) on one thread, in a build for any x86-64; one is of the portable
# kernels.
# MESHFOLD_BENCH names a program that is built already; CARGO_TARGET_DIR is respected. INSTRUCTIONS_OUT names a folder
# that keeps callgrind's files, for `callgrind_annotate`.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")"

families=(logistic mlp mlp-portable gn-lenet cnn-cifar resnet char-lstm)
recorded=instructions.json
record=false
case "${1:-}" in
    "") ;;
    --record) record=true ;;
    *) echo "usage: $0 [--record]" >&2; exit 2 ;;
esac

command -v valgrind >/dev/null || { echo "valgrind is missing: apt-get install valgrind" >&2; exit 1; }
out=${INSTRUCTIONS_OUT:-$(mktemp -d)}
mkdir -p "$out"
[ -n "${INSTRUCTIONS_OUT:-}" ] || trap 'rm -rf "$out"' EXIT

bench=${MESHFOLD_BENCH:-}
if [ -z "$bench" ]; then
    env -u RUSTFLAGS cargo build --quiet --release --workspace --locked --bin meshfold-bench
    bench=${CARGO_TARGET_DIR:-$PWD/../target}/release/meshfold-bench
fi

# Instructions of a whole run of $2 steps of the family $1.
total() {
    local file=$out/$1.$2 set=avx2
    [ "${1%-portable}" = "$1" ] || set=portable
    valgrind --tool=callgrind --callgrind-out-file="$file" --log-file="$file.log" \
        "$bench" count "${1%-portable}" --steps "$2" --cpu "$set" >"$file.json" || { cat "$file.log" "$file.json" >&2; return 1; }
    awk '$1 == "totals:" { print $2 }' "$file"
}

# Setting up costs the same whatever the number of steps, but for some ten thousand instructions of threads that wait: the
# smaller a step, the more of them are taken.
one_step() {
    local more=2 few many
    case $1 in logistic) more=40 ;; mlp*) more=10 ;; esac
    few=$(total "$1" 1)
    many=$(total "$1" $((1 + more)))
    echo $(((many - few) / more))
}

# The text behind the key $1.
value() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$recorded"; }

compiler=$(rustc --version)
if "$record"; then
    {
        printf '{\n  "rustc": "%s",\n  "instructions": "avx2"' "$compiler"
        for family in "${families[@]}"; do
            count=$(one_step "$family")
            printf ',\n  "%s": %s' "$family" "$count"
        done
        printf '\n}\n'
    } >"$out/new.json"
    cp "$out/new.json" "$recorded"
    cat "$recorded"
    exit
fi

failed=()
printf '%-10s %14s %14s %8s\n' model recorded counted change
for family in "${families[@]}"; do
    before=$(value "$family")
    [ -n "$before" ] || { echo "$recorded has no count of $family: run $0 --record" >&2; exit 1; }
    count=$(one_step "$family")
    printf '%-10s %14d %14d %+7.2f%%\n' "$family" "$before" "$count" \
        "$(awk -v a="$before" -v b="$count" 'BEGIN { print 100 * (b - a) / a }')"
    awk -v a="$before" -v b="$count" 'BEGIN { exit !(b > 1.05 * a || b < 0.95 * a) }' && failed+=("$family")
done
[ ${#failed[@]} -gt 0 ] || exit 0

if [ "$compiler" != "$(value rustc)" ]; then
    echo "warning: ${failed[*]} differ by more than 5 %, but the counts were made by $(value rustc) and this is $compiler" >&2
    exit 0
fi
echo "more than 5 % from $recorded: ${failed[*]}. If that is meant, run $0 --record and commit the counts." >&2
exit 1
