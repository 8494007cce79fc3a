"""Mutants of the model of NOR flash."""

from tests.house.mutant import Mutant

SUITES = ("nor",)

MUTANTS = (
    Mutant(
        name="nor-operations-are-never-durable",
        file="replayer/media/nor/nor.cc",
        old="return Durable::kAll;",
        new="return Durable::kNothing;",
        suites=SUITES,
    ),
    Mutant(
        name="nor-stores-are-torn-by-words",
        file="replayer/media/nor/nor.cc",
        old="{.whole = true}",
        new="{.whole = false}",
        suites=SUITES,
    ),
    Mutant(
        name="nor-stores-pass-each-other",
        file="replayer/media/nor/nor.cc",
        old="{.whole = true}",
        new="{.non_temporal = true, .whole = true}",
        suites=SUITES,
    ),
    Mutant(
        name="nor-units-of-a-call-are-durable-together",
        file="engine/commands/nor_programs.cc",
        old="g_work->take(event);\n}\n\n}  // namespace\n}  // namespace powercut\n\n#define",
        new="if (g_work->pool.empty()) g_work->take(event);\n}\n\n}  // namespace\n}  // namespace powercut\n\n#define",
        suites=SUITES,
    ),
)
