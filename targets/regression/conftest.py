"""Fixtures of the real engine, for the pairs."""

from checker.tests.conftest import real_engine

__all__ = ["real_engine"]
