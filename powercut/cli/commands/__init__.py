"""One module a verb. Each offers `register(app)`; `powercut.cli.main` puts them together."""
