"""A run on many machines: `dask` has a cluster explore its chunks, `shards` splits a command by hand and merges it."""
