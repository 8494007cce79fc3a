#!/usr/bin/env bash
# Makes a fresh clone on Debian 12 ready to build and test: distribution packages, .venv, the locked
# Python packages, and powercut itself (editable). Run it again at any time: it does only what is
# missing, and a run that finds nothing to do takes well under a second.
# Exit codes: 0 ready, 2 something that only the user can do (the message says what).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/.venv

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 2; }

install_packages() {
  local wanted missing=() sudo=()
  command -v dpkg-query >/dev/null || fail "dpkg-query not found. powercut is set up on Debian 12; elsewhere install" \
    "the counterparts of tools/debian-packages.txt by hand and run 'POWERCUT_SKIP_PACKAGES=1 make setup'."
  mapfile -t wanted < <(grep -v '^#' tools/debian-packages.txt)
  mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}" | sort -u) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort -u))
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local line="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if [[ $(id -u) -ne 0 ]]; then
    # Without a terminal nobody can type a password, so sudo must not ask for one.
    if command -v sudo >/dev/null && { [[ -t 0 && -t 2 ]] || sudo -n true 2>/dev/null; }; then
      sudo=(sudo)
    else
      say "these packages are missing and only root can install them. Run this line as root, then 'make setup' again:"
      printf '%s\n' "$line" >&2
      exit 2
    fi
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  # One unreachable extra source must not stop us: what matters is whether the install below works.
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update || say "apt-get update reported errors; going on."
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >&2 ||
    fail "apt-get could not install: ${missing[*]}. Its message is above; mend it and run 'make setup' again."
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

# Two steps with a stamp each, written last, so that an interrupted step is done again from its start.
# `layout` is raised when this function changes what it installs.
install_python() {
  local layout=1 python environment project
  python=$(find_python)
  # A virtual environment holds absolute paths, so the clone's own path is part of its identity.
  environment=$({ printf '%s\n' "$layout" "$root" "$python"; "$python" --version; cat requirements.lock; } | fingerprint)
  if ! stamped environment "$environment"; then
    say "creating .venv with $python"
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock ||
      fail "pip could not install requirements.lock. Its message is above; mend it and run 'make setup' again."
    printf '%s\n' "$environment" >"$venv/.powercut-environment"
  fi
  project=$(fingerprint <pyproject.toml)
  if ! stamped project "$project"; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . ||
      fail "pip could not install powercut itself. Its message is above; mend it and run 'make setup' again."
    printf '%s\n' "$project" >"$venv/.powercut-project"
  fi
}

[[ $(uname -sm) == "Linux x86_64" ]] || fail "this machine is '$(uname -sm)'; powercut needs x86-64 Linux."
[[ -n ${POWERCUT_SKIP_PACKAGES:-} ]] || install_packages
install_python
say "ready"
