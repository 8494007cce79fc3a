#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy) over our translation units: tools/tidy.sh BUILD_DIR JOBS. BUILD_DIR is only configured: with
# a command for each file, and without precompiled headers, which nobody has built.
# Silent when clean; prints the findings and exits 1 otherwise.
set -euo pipefail
build=$1 jobs=$2
cmake -S . -B "$build" -G Ninja -DPOWERCUT_UNITY=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
# A file can be compiled twice (with and without the pass); tidy looks at each once.
mapfile -t files < <(git ls-files '*.cc' | while read -r file; do
  if grep -qF "\"file\": \"$PWD/$file\"" "$build/compile_commands.json"; then echo "$file"; fi
done)
[[ ${#files[@]} -gt 0 ]] || exit 0
printf '%s\0' "${files[@]}" | xargs -0 -P "$jobs" -n 1 \
  clang-tidy-19 -p "$build" --quiet --warnings-as-errors='*' 2> >(grep -vE '^[0-9]+ warnings? generated|^Suppressed' >&2 || true)
