#!/usr/bin/env bash
# Makes a Python environment with the rivals' libraries, in the versions of requirements.txt.
#
#   benches/rivals/setup.sh [FOLDER [PYTHON]]
#
# FOLDER is benches/rivals/env if none is named: there benches/compare.sh finds it. PYTHON (python3) must be 3.12 or newer.
# It takes a few minutes and 6 GB, most of it CUDA libraries that come with PyTorch and that no rival uses. PyTorch's own
# index has wheels without them: name it to pip, as README.md says.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/env} python=${2:-python3}
if [ $# -gt 2 ] || [[ $folder == -* ]]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
    echo "$python is not Python 3.12 or newer: $0 $folder PYTHON names another" >&2
    exit 1
fi
"$python" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --requirement "$here/requirements.txt"
"$folder/bin/python" -c 'import jax, numpy, torch; print("jax", jax.__version__, "numpy", numpy.__version__, "torch", torch.__version__)'
