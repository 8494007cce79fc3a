"""The engine and the brute-force reference give the same crash points, candidates and state counts."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replayer.reference.media import answer
from replayer.reference.program import Program
from replayer.tests.engine import EngineModel, disagreement
from replayer.tests.long_run import compare
from replayer.tests.programs import generate

SHRINKING_PROGRAMS = 400
SEEDED_PROGRAMS = 2000
LONG_PROGRAMS = 100_000
PROGRAMS = st.randoms(use_true_random=False).map(generate)


@pytest.mark.slow
@settings(
    max_examples=SHRINKING_PROGRAMS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(program=PROGRAMS)
def test_random_programs(engine_model: EngineModel, program: Program) -> None:
    difference = disagreement(program, engine_model.answer(program), answer(program))
    assert difference is None, difference


@pytest.mark.slow
def test_seeded_programs(engine_model: EngineModel) -> None:
    """Programs that are equal on every machine, spread more evenly than Hypothesis spreads its own."""
    report = compare(engine_model, programs=SEEDED_PROGRAMS, seed=1)
    assert report.programs == SEEDED_PROGRAMS
    assert report.differences == [], report.differences[0]


@pytest.mark.long
def test_many_random_programs(engine_model: EngineModel) -> None:
    report = compare(engine_model, programs=LONG_PROGRAMS, seed=2026, max_atoms=10)
    print(report.summary())
    assert report.programs >= LONG_PROGRAMS
    assert report.differences == [], report.differences[0]
