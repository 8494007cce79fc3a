"""Findings of a run: finding and run records, fingerprints, the database of failures."""
