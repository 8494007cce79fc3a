"""`powercut cc` and `powercut c++`: the user's compiler with the pass."""
