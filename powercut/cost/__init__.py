"""Costs of operations, and whether they are as a paper says."""
