"""Memory, disk space, open files and their limits: where one of them was the cause, people are told so."""

import errno
import resource

from powercut.base.errors import HarnessError

_MIB = 1 << 20
#: Limits that an engine needs more of than a shell may grant: what each is a limit of, and how a shell raises it.
_MEMORY = ((resource.RLIMIT_AS, "ulimit -v"), (resource.RLIMIT_DATA, "ulimit -d"))
#: Advice for an error of the system.
_ADVICE = {
    errno.EFBIG: "Raise the limit of the size of files (ulimit -f).",
    errno.ENOSPC: "Make room on this disk, or choose another folder with --out.",
    errno.EDQUOT: "Make room within your quota, or choose another folder with --out.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n).",
    errno.ENFILE: "Wait until other programs have closed files: the whole system has too many open.",
    errno.ENOMEM: "Free some memory, or give --jobs 1.",
    errno.EAGAIN: "Raise the limit of processes (ulimit -u), or give --jobs 1.",
}


def advice(number: int | None) -> str:
    """Returns advice for an error of the system; empty for one that is not about a resource."""
    return _ADVICE.get(number or 0, "")


def memory_limit() -> str:
    """ "memory is limited to 400 MiB (ulimit -v)"; empty where it is not."""
    for number, command in _MEMORY:
        limit, _ = resource.getrlimit(number)
        if limit != resource.RLIM_INFINITY:
            return f"memory is limited to {limit // _MIB} MiB ({command})"
    return ""


def error_of(error: BaseException) -> HarnessError | None:
    """The error for people, where an exception says that a resource is exhausted; None for any other exception."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        limit = memory_limit()
        return HarnessError(
            "there is not enough memory" + (f": {limit}" if limit else ""),
            next_step="Raise the limit and run it again." if limit else _ADVICE[errno.ENOMEM],
        )
    if isinstance(error, FileNotFoundError) and "No usable temporary directory" in str(error):
        most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        limited = most != resource.RLIM_INFINITY
        return HarnessError(
            "no temporary file can be written" + (f": files are limited to {most} bytes" if limited else ""),
            next_step=_ADVICE[errno.EFBIG] if limited else "Make room in /tmp, or name another folder with TMPDIR.",
        )
    if isinstance(error, OSError) and (what_to_do := advice(error.errno)):
        return HarnessError(str(error.strerror), where=str(error.filename or ""), next_step=what_to_do)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        limit = memory_limit()
        return HarnessError(
            "no thread can be started" + (f": {limit}" if limit else ""),
            next_step="Raise the limit and run it again." if limit else _ADVICE[errno.EAGAIN],
        )
    return None
