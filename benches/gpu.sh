#!/usr/bin/env bash
# Tries Meshfold on a machine with a GPU, in one go: tests against the processor, throughput beside JAX and PyTorch, time and bytes of
# every kernel.
#
#   benches/gpu.sh pack FOLDER [--features vulkan|gpu|cuda]   gathers in FOLDER all that the machine needs
#   FOLDER/gpu.sh [--tune] [--small] [--device wgpu] [--minutes 9] [--results FOLDER]
#
# `pack` builds programs and tests, which takes half an hour on two cores if nothing was built before, and copies them with the loader of
# Vulkan of this machine. The second line is for the machine with the GPU: it needs the driver, and neither Rust nor a network. It is done
# after nine minutes at most; what has no time left is not begun. It writes results.json and page.md to the folder of results
# (FOLDER/results), and prints the page. JAX and PyTorch take part where PYTHON (python3) has them with support for the GPU. --small is for
# a look on software Vulkan. A test that fails makes it end with 1.
#
# --tune measures something else: W1 to W6 as they are, then with one number of their kernels changed at a time, and writes tuning.md.
# `benches/tuning.txt` names the numbers. The first run and the last of a workload are the same, and show how far times vary.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "$0")" && pwd)

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }

pack() {
    local folder=${1:-} features=vulkan target loader
    [ -n "$folder" ] || usage
    shift
    while [ $# -gt 0 ]; do
        [ "$1" = --features ] && [ $# -ge 2 ] || usage
        features=$2
        shift 2
    done
    mkdir -p "$folder/tests" "$folder/rivals" "$folder/lib"
    folder=$(cd "$folder" && pwd)
    cd "$here/.."
    # All of them at once, so that what they depend on has the same features and is built once.
    local all=(--release --locked -p meshfold-engine -p meshfold -p meshfold-bench
        --features "meshfold-engine/$features,meshfold/$features,meshfold-bench/$features,meshfold-bench/tuning")
    cargo build "${all[@]}" --bin meshfold-bench
    target=${CARGO_TARGET_DIR:-target}/release
    strip -o "$folder/meshfold-bench" "$target/meshfold-bench"
    cargo test "${all[@]}" --lib --test gpu --test gpu_launches --no-run 2>&1 | tee /dev/stderr |
        sed -n -e 's/.*Executable tests\/\([a-z_]*\).*(\(.*\))$/\1 \2/p' \
            -e 's/.*Executable unittests .*(\(.*\/meshfold_engine-.*\))$/kernels \1/p' >"$folder/tests.txt"
    [ -s "$folder/tests.txt" ] || { echo "no test programs were found in what cargo says" >&2; exit 1; }
    while read -r name path; do strip -o "$folder/tests/$name" "$path"; done <"$folder/tests.txt"
    rm "$folder/tests.txt"
    cp benches/gpu.sh benches/tuning.txt benches/rivals/*.py "$folder"/
    mv "$folder"/*.py "$folder/rivals/"
    loader=$(ldconfig -p | sed -n 's/.*libvulkan\.so\.1 .*=> //p' | head -n 1)
    [ -z "$loader" ] || cp -L "$loader" "$folder/lib/libvulkan.so.1"
    git describe --always --dirty --abbrev=7 >"$folder/commit" 2>/dev/null || echo unknown >"$folder/commit"
    echo "$folder is ready ($(du -sh "$folder" | cut -f 1)): take it to the machine and run gpu.sh there"
}

if [ "${1:-}" = pack ]; then
    pack "${@:2}"
    exit
fi

small="" tune="" device=wgpu minutes=9 results=$here/results
while [ $# -gt 0 ]; do
    case $1 in
        --small) small=yes ;;
        --tune) tune=yes ;;
        --device | --minutes | --results)
            [ $# -ge 2 ] || usage
            declare "${1#--}=$2"
            shift
            ;;
        *) usage ;;
    esac
    shift
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || usage
bench=$here/meshfold-bench python=${PYTHON:-python3}
[ -x "$bench" ] || { echo "$bench is missing: this runs in the folder that \`benches/gpu.sh pack FOLDER\` makes" >&2; exit 2; }
mkdir -p "$results"
records=$results/records.jsonl
: >"$records"

# The loader of this machine if it has one, else that of the pack; and NVIDIA's driver, where nothing says that it is there.
ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1' || export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ -z "${VK_ICD_FILENAMES:-}" ] && ! ls /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json >/dev/null 2>&1; then
    driver=$(ldconfig -p 2>/dev/null | sed -n 's/.*\(libGLX_nvidia\.so\.0\|libEGL_nvidia\.so\.0\) .*=> .*/\1/p' | sort -r | head -n 1)
    if [ -n "$driver" ]; then
        printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' "$driver" >"$results/nvidia_icd.json"
        export VK_ICD_FILENAMES=$results/nvidia_icd.json
    fi
fi
[ -n "${XDG_RUNTIME_DIR:-}" ] || { XDG_RUNTIME_DIR=$(mktemp -d); export XDG_RUNTIME_DIR; }

# A string of JSON.
quoted() { printf '%s' "$1" | tr '\n\t' '  ' | sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&"/'; }
keep() { printf '{"kind": "%s", "record": %s}\n' "$1" "$2" >>"$records"; }
# Runs a command for as long as the first word says, or as time is left; 124 if there is none.
within() {
    local most=$1 left=$((60 * minutes - SECONDS))
    [ "$left" -ge 5 ] || { echo "no time left for: ${*:2}" >&2; return 124; }
    timeout "$((most < left ? most : left))" "${@:2}"
}
# Keeps the one line of JSON that a command prints as a record of the kind that the first word names.
measure() {
    local record
    echo "$SECONDS s: ${*:3}" >&2
    if record=$(within "$2" "${@:3}" 2>>"$results/errors.txt" | grep '^{' | tail -n 1) && [ -n "$record" ]; then
        keep "$1" "$record"
    else
        echo "left out, see errors.txt: ${*:3}" >&2
        keep "left out" "{\"command\": $(quoted "${*:3}")}"
    fi
}

keep machine "{\"gpu\": $(quoted "$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo "not NVIDIA's")"),
    \"processor\": $(quoted "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"),
    \"commit\": $(quoted "$(cat "$here/commit" 2>/dev/null)"), \"date\": $(quoted "$(date -u +%FT%TZ)")}" 2>/dev/null
# One object a line.
sed -i ':a;N;$!ba;s/\n    / /g' "$records"

repeats=(--repeat 3)
declare -A shape=()
if [ -n "$small" ]; then
    repeats=(--repeat 1 --rounds 1)
    shape=([w1]="--clients 20" [w2]="--clients 4 --steps 2" [w3]="--clients 8 --steps 1" [w4]="--clients 11 --batch 2" [w5]="--clients 4"
        [w6]="--clients 100 --params 10000" [copy]="--clients 100 --params 10000")
fi
ours() { # shellcheck disable=SC2086
    measure "$1" 60 "$bench" "$2" --device "$device" ${shape[$2]:-} "${@:3}"
}
has() { command -v "$python" >/dev/null && "$python" -c "$1" >/dev/null 2>&1; }

# One copy alone is over before the GPU has all of it in flight.
alone=(--rounds 20)
[ -z "$small" ] || alone=()
if [ -n "$tune" ]; then
    table=$results/tuning.md
    { sed -n 1p "$records"; printf '\n| workload | changed | seconds | the least, the most |\n|---|---|---|---|\n'; } | tee "$table"
    # The median, least and most of the record that a command prints, as cells.
    cells() {
        sed -n 's/.*"seconds":{"median":\([^,]*\),"min":\([^,]*\),"max":\([^}]*\)}.*/\1 | \2, \3/p'
    }
    while read -r case change; do
        case $case in "" | "#"*) continue ;; esac
        rounds=()
        [ "$case" != w6 ] || rounds=("${alone[@]}")
        # shellcheck disable=SC2046,SC2086
        seconds=$(within 60 env ${change:+$(printf 'MESHFOLD_TUNE_%s ' $change)} "$bench" "$case" --device "$device" \
            ${shape[$case]:-} "${repeats[@]}" "${rounds[@]}" 2>>"$results/errors.txt" </dev/null | cells) || true
        echo "| $case | $change | ${seconds:-left out |} |" | tee -a "$table"
    done <"$here/tuning.txt"
    exit
fi
for case in copy w6; do ours ours "$case" "${repeats[@]}" "${alone[@]}"; done
for case in w1 w2 w3 w4 w5; do ours ours "$case" "${repeats[@]}"; done
for case in w1 w2 w3 w4 w5; do
    ours local "$case" "${repeats[@]}" --degree 0
    ours trace "$case" --trace --times --json
done
failed=""
for test in "$here"/tests/*; do
    name=$(basename "$test") log=$results/$(basename "$test").txt began=$SECONDS status=0
    echo "$SECONDS s: tests $name" >&2
    within 200 "$test" --ignored >"$log" 2>&1 || status=$?
    passed=$(grep -c '^test .* ok$' "$log" || true) lost=$(grep -c '^test .* FAILED$' "$log" || true)
    [ $status = 0 ] || failed="$failed $name ($status)"
    keep tests "{\"what\": $(quoted "$name$([ $status = 124 ] && echo ', out of time')"), \"passed\": $passed, \"failed\": $lost, \"seconds\": $((SECONDS - began))}"
done
rival() { # shellcheck disable=SC2086
    measure rival 60 "$python" "$here/rivals/$1_rival.py" "$2" --device gpu --impl vmap "${repeats[@]}" ${shape[$2]:-}
}
for case in w1 w2 w3 w4 w5; do
    if has 'import jax; assert jax.devices("gpu")'; then rival jax "$case"; fi
    if has 'import torch; assert torch.cuda.is_available()'; then rival torch "$case"; fi
done

{ echo "["; sed '$!s/$/,/' "$records"; echo "]"; } >"$results/results.json"
"$bench" page "$records" | tee "$results/page.md"
echo "done in $SECONDS s; $results has results.json and page.md" >&2
[ -z "$failed" ] || { echo "tests failed:$failed; their output is in $results" >&2; exit 1; }
