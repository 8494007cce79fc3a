"""What a run found: finding and run records, fingerprints, the database of failures."""
