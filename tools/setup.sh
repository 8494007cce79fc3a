#!/usr/bin/env bash
# Makes a fresh clone on Debian 12 ready to build and test: distribution packages, .venv, the locked
# Python packages, and powercut itself (editable). Run it again at any time: it does only what is
# missing, and a run that finds nothing to do takes well under a second.
#   tools/setup.sh              everything
#   tools/setup.sh to-judge     the distribution packages that an installed powercut works with
#   tools/setup.sh to-build     these, and those that building it takes
#   tools/setup.sh to-run       .venv alone, with what powercut itself imports
#   tools/setup.sh languages    the compilers and runtimes of the tests in other languages that PATH lacks, and the
#                               libraries of programs of others that long tests run
# Exit codes: 0 ready, 2 something that only the user can do (the message says what).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/.venv

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 2; }

install_packages() {
  local wanted missing=()
  command -v dpkg-query >/dev/null || fail "dpkg-query not found. powercut is set up on Debian 12; elsewhere install" \
    "the counterparts of tools/debian-packages.txt by hand and run 'POWERCUT_SKIP_PACKAGES=1 make setup'."
  # $1 deletes what is not wanted.
  mapfile -t wanted < <(sed "$1" tools/debian-packages.txt | grep -v '^#')
  mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}" | sort -u) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort -u))
  [[ ${#missing[@]} -eq 0 ]] || install_missing "${missing[@]}"
}

# A compiler that the user has installed in another way is as good as the package.
install_languages() {
  local missing=()
  command -v go >/dev/null || missing+=(golang-go)
  command -v rustc >/dev/null || missing+=(rustc)
  command -v cargo >/dev/null || missing+=(cargo)
  command -v node >/dev/null || missing+=(nodejs)
  command -v javac >/dev/null || missing+=(default-jdk-headless)
  [[ -e /usr/include/leveldb/c.h ]] || missing+=(libleveldb-dev)
  [[ ${#missing[@]} -eq 0 ]] || install_missing "${missing[@]}"
}

install_missing() {
  local missing=("$@") sudo=()
  local line="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if [[ $(id -u) -ne 0 ]]; then
    # Without a terminal nobody can type a password, so sudo must not ask for one.
    if command -v sudo >/dev/null && { [[ -t 0 && -t 2 ]] || sudo -n true 2>/dev/null; }; then
      sudo=(sudo)
    else
      say "these packages are missing and only root can install them. Run this line as root, then the set-up again:"
      printf '%s\n' "$line" >&2
      exit 2
    fi
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  # One unreachable extra source must not stop us: what matters is whether the install below works.
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update || say "apt-get update reported errors; going on."
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >&2 ||
    fail "apt-get could not install: ${missing[*]}. Its message is above; mend it and run the set-up again."
}

# The distribution's Python first: it is the one whose venv module was installed above.
find_python() {
  local candidate
  for candidate in /usr/bin/python3.11 python3.11 python3; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  fail "no Python 3.11 or newer with the venv module. Install python3.11 and python3.11-venv, then run 'make setup' again."
}

fingerprint() { sha256sum | cut -d' ' -f1; }
stamped() { [[ $(cat "$venv/.powercut-$1" 2>/dev/null) == "$2" ]]; }

# Steps with a stamp each, written last, so that an interrupted step is done again from its start.
# `layout` is raised when this function changes what it installs.
install_python() {
  local layout=2 python environment development project
  python=$(find_python)
  # A virtual environment holds absolute paths, so the clone's own path is part of its identity.
  environment=$({ printf '%s\n' "$layout" "$root" "$python"; "$python" --version; cat requirements.lock; } | fingerprint)
  if ! stamped environment "$environment"; then
    say "creating .venv with $python"
    rm -rf "$venv"
    "$python" -m venv "$venv"
    install_locked requirements.lock
    printf '%s\n' "$environment" >"$venv/.powercut-environment"
  fi
  development=$(fingerprint <requirements-dev.lock)
  if [[ $1 == all ]] && ! stamped development "$development"; then
    install_locked requirements-dev.lock
    printf '%s\n' "$development" >"$venv/.powercut-development"
  fi
  project=$(fingerprint <pyproject.toml)
  if ! stamped project "$project"; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . ||
      fail "pip could not install powercut itself. Its message is above; mend it and run 'make setup' again."
    printf '%s\n' "$project" >"$venv/.powercut-project"
  fi
}

install_locked() {
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r "$1" ||
    fail "pip could not install $1. Its message is above; mend it and run 'make setup' again."
}

[[ $(uname -sm) == "Linux x86_64" ]] || fail "this machine is '$(uname -sm)'; powercut needs x86-64 Linux."
case ${1:-all} in
  all) packages='' python=all ;;
  to-judge) packages='/^# To build/,$d' python= ;;
  to-build) packages='/^# For tests/,$d' python= ;;
  to-run) packages=none python=run ;;
  languages) packages=none python= && install_languages ;;
  *) fail "'$1' is no part of the set-up. The parts are to-judge, to-build, to-run and languages; without a name, everything." ;;
esac
[[ -n ${POWERCUT_SKIP_PACKAGES:-} || $packages == none ]] || install_packages "$packages"
[[ -z $python ]] || install_python "$python"
[[ ${1:-all} != all ]] || say "ready"
