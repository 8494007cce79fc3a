"""`powercut new-target`: an adapter for a foreign library, from templates."""
