"""The beliefs about file systems: their switches and their profiles."""
