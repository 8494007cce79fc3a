"""The corpus of planted bugs: each is found, its fixed twin is clean, and its minimal case is known."""
