"""Brute-force reference of the persistency models, written apart from the engine to disagree with it.

It enumerates subsets of atoms and filters them; the engine computes chains and floors. Hypothesis compares the two
on random programs (`replayer/tests`), and the litmus suite holds both to outcomes that were worked out by hand. The
rules of a medium stand in the medium's folder, beside the engine's; neither side knows the other's code.
"""
