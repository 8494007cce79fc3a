"""Scenario files and their schema, the catalog, targets, and the plan that the engine takes."""
