#!/usr/bin/env bash
# Builds the Pintool with the kit in PIN_ROOT: tracer/pin/build.sh BUILD_DIR. Lands in BUILD_DIR/lib/powercut_pin.so.
set -euo pipefail
build=$(mkdir -p "$1/lib" "$1/pin" && cd "$1" && pwd)
fail() { # WHAT WHERE NEXT
  echo "$2: $1. $3" >&2
  exit 2
}
next="Download Intel Pin 3 for Linux, unpack it, and run 'make pin PIN_ROOT=/path/to/it'."
[[ -n ${PIN_ROOT:-} ]] || fail "not set, and the Pintool is built with a kit's own rules" PIN_ROOT "$next"
root=$(cd "$PIN_ROOT" 2>/dev/null && pwd) || fail "no such folder" "PIN_ROOT=$PIN_ROOT" "$next"
for part in pin source/tools/Config/makefile.config source/include/pin/pin.H intel64; do
  [[ -e $root/$part ]] || fail "not a Pin kit for Linux: it has no $part" "PIN_ROOT=$PIN_ROOT" "$next"
done
cd "$(dirname "${BASH_SOURCE[0]}")"
# The kit takes its compilers' names from the environment only if they are set there on purpose.
make --no-print-directory PIN_ROOT="$root" TARGET=intel64 OBJDIR="$build/pin/" "$build/pin/powercut_pin.so"
cp "$build/pin/powercut_pin.so" "$build/lib/powercut_pin.so"
echo "built $build/lib/powercut_pin.so with the kit in $root"
