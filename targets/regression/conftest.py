"""Fixtures of the real engine, for the pairs."""

from tests.conftest import real_engine

__all__ = ["real_engine"]
