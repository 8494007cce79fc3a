"""Litmus tests of the persistency models."""
