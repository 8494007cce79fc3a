"""One module a verb. Each offers `register(app)`; `powercut.cli` puts them together."""
