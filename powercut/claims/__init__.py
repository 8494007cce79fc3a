"""Claims of a paper about its scheme, checked in every run (checker/CLAIMS.md).

`expression` reads one claim, `tables` and `sheet` the TOML tables that hold them, `judge` compares them with a run.
"""
