"""powercut in tests: `powercut.check`, operations, the pytest plugin, Hypothesis."""
