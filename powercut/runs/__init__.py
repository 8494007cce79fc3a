"""A run from its request to its records: recording, exploring in rounds, the cache, audit, faults, reproducing."""
