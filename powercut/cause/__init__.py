"""Why a finding is one: the two places whose order is missing, and a fix that was tried.

- trace_view   the events of a trace and their lines of source
- images       what recovery makes of images that we name
- culprits     which store is lost, and what came too early
- fixes        a fix as edits of a trace
- root_cause   puts them together and tries the fix
- words        says it in sentences
- file_fixes   the same for calls on a folder, whose fixes are syncs
"""

from powercut.cause.root_cause import class_of, find_cause, unexplained

__all__ = ["class_of", "find_cause", "unexplained"]
