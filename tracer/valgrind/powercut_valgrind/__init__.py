"""powercut's Valgrind tool with the parts of Valgrind that it runs on, in native/lib/valgrind. `powercut` finds it."""
