#!/usr/bin/env bash
# What `make run` does, in the order of somebody who sees powercut for the first time: tools/run.sh BUILD_DIR JOBS.
# A first finding, on as little as it takes to build; then all else: figures of the papers, the audit of the engine, every
# scheme as published and hardened, the report.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1 jobs=$2
powercut=.venv/bin/powercut

say() { printf '%s\n' "$*" >&2; }
# Findings are the point here, so that status 1 is none of a failure.
judged() { "$@" || { local code=$?; [[ $code -eq 1 ]] || exit "$code"; }; }

# One line that changes, where somebody looks on; elsewhere nothing but what went wrong.
compile() {
  local quiet=(); [[ -t 1 ]] || quiet=(--quiet)
  NINJA_STATUS='build: %f of %t, %es  ' ninja -C "$build" -j "$jobs" "${quiet[@]}" "$@"
}

tools/setup.sh to-build
tools/setup.sh to-run &
python=$!
[[ -f $build/build.ninja ]] || {
  say "build: looking for compilers and libraries"
  mkdir -p "$build"
  cmake -S . -B "$build" -G Ninja -DPOWERCUT_BUILD_TESTS=OFF >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log" >&2; wait; exit 2; }
}
say "build: what a first finding needs"
compile powercut_first || { wait; exit 2; }
wait "$python"

say "A first finding: Level hashing as its paper has it, when an insert has to move another item."
# The small engine is linked before the whole one (engine/first/main.cc).
POWERCUT_ENGINE=$build/bin/powercut-engine-first \
  judged "$powercut" run level:published --scenario insert_move_bottom --out .powercut/first

say "build: all schemes, and the tracer for programs that were not built for powercut"
compile powercut_schemes || exit 2
mkdir -p .powercut
say "fidelity: the papers' figures beside ours, into .powercut/fidelity.txt"
judged "$powercut" fidelity --out .powercut >.powercut/fidelity.txt
say "audit: 5000 crash images on plain builds, beside what the engine predicts, into .powercut/audit.txt"
"$powercut" audit --images 5000 --out .powercut/audit >.powercut/audit.txt
tail -n 1 .powercut/audit.txt
say "run: every scheme, as published and hardened"
judged "$powercut" run --all --out .powercut --format html,json
