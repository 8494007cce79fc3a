"""Whether another machine explores as this one does: the same builds, the same CPU features, the same addresses.

Code of the target can choose by CPU features (glibc's memcpy does). Its behaviour can also depend on addresses, on
which the dynamic linker and the kernel decide. Where they differ, two machines could answer differently, and a report
would depend on who explored which chunk: such a machine is refused.

Known inaccuracies: CPU features are those that compilers and glibc choose by, as the kernel lists them. A target may
read the machine in other ways (its number of cores); to hide these is the task of the engine's virtual world.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from powercut import __version__
from powercut.engine import engine, events

_CPU_INFO = Path("/proc/cpuinfo")
#: Prefixes in /proc/cpuinfo of instruction sets, and of features by which glibc chooses string functions.
_PREFIXES = ("sse", "ssse", "avx", "amx", "bmi", "fma", "sha", "aes", "vaes", "gfni", "movdir", "cldemote", "cx")
_NAMES = frozenset(
    (
        *("mmx", "popcnt", "abm", "lzcnt", "movbe", "adx", "erms", "fsrm", "fzrm", "fsrs", "fsrc", "rtm", "hle"),
        *("xsave", "xsaveopt", "xsavec", "xgetbv1", "f16c", "pclmulqdq", "vpclmulqdq", "clflush", "clflushopt", "clwb"),
        *("pku", "fsgsbase", "rdrand", "rdseed", "rdtscp", "prefetchwt1", "serialize", "lam", "la57"),
    )
)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about one machine and one target on which the results of an exploration could depend."""

    powercut: str
    engine: str
    target: str
    cpu: tuple[str, ...]
    #: For each loaded file: name, build id, address.
    modules: tuple[tuple[str, str, str], ...]
    page: int
    #: Addresses are not randomised.
    fixed: bool

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def facts(engine_path: Path, library: str) -> Facts:
    """Returns the facts of this machine. UsageError or HarnessError where the engine or the target does not start."""
    event, _ = engine.single(engine_path, ["machine", "--library", library], events.Machine)
    assert isinstance(event, events.Machine)
    return Facts(
        powercut=__version__,
        engine=event.engine,
        target=event.target,
        cpu=cpu_features(),
        modules=tuple((module.name, module.build_id, module.address) for module in event.modules),
        page=event.page,
        fixed=event.fixed,
    )


def cpu_features(info: Path = _CPU_INFO) -> tuple[str, ...]:
    """Returns the features by which code is chosen, in order; none where the kernel does not list them."""
    try:
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return tuple(sorted({flag for flag in flags if flag in _NAMES or flag.startswith(_PREFIXES)}))


def difference(here: Facts, there: Facts) -> str:
    """Why a machine is refused, as the end of a sentence; empty where it is fit."""
    if there.powercut != here.powercut:
        return f"it has powercut {there.powercut}, and this is {here.powercut}"
    if there.engine != here.engine:
        return f"its engine is another build (build id {_short(there.engine)}, here {_short(here.engine)})"
    if there.target != here.target:
        return f"its target library is another build (build id {_short(there.target)}, here {_short(here.target)})"
    if there.cpu != here.cpu:
        lacks, more = _listed(set(here.cpu) - set(there.cpu)), _listed(set(there.cpu) - set(here.cpu))
        parts = [f"lacks {lacks}"] if lacks else []
        parts += [f"has {more} more"] if more else []
        return f"its CPU {' and '.join(parts)}"
    builds = [(name, build) for name, build, _ in here.modules], [(name, build) for name, build, _ in there.modules]
    if builds[0] != builds[1]:
        other = _listed({name for name, _ in set(builds[0]) ^ set(builds[1])}) or "files in another order"
        return f"it loads other builds of {other}"
    if not there.fixed:
        return "its addresses are random (personality ADDR_NO_RANDOMIZE is forbidden there)"
    if (here.modules, here.page) != (there.modules, there.page):
        moved = _listed({name for name, _, _ in set(here.modules) ^ set(there.modules)}) or "pages"
        return f"its address layout is another one ({moved})"
    return "" if here == there else "it differs"


def _short(build_id: str) -> str:
    return build_id[:12] or "none"


def _listed(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
