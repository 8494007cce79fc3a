#!/bin/sh
# Notes in git: notes.sh setup|run|check|dump FOLDER [COUNT]. `run` commits COUNT notes, and prints `committed N` when git
# has ended. `check` is the restart: it removes locks that are left, and asks git whether all objects are there.
set -e
cd "$2"
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent
git() { command git -c gc.auto=0 ${GIT_FSYNC:+-c core.fsync=$GIT_FSYNC} "$@"; }
note() {
  echo "note $1" >"note-$1"
  git add "note-$1"
  git commit --quiet --message="note $1"
}
case $1 in
  setup)
    git init --quiet --template= --initial-branch=main
    note 0
    ;;
  run)
    for number in $(seq "${3:-2}"); do
      note "$number"
      echo "committed $number"
    done
    ;;
  check)
    find .git -name '*.lock' -delete
    git fsck --full --strict --no-dangling
    git rev-parse --verify HEAD
    ;;
  dump) git log --format=%s ;;
esac
