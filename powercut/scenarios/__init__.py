"""What to run: scenario files and their schema, the catalog, targets, and the plan that the engine takes."""
