"""The command line, as people type and see it: one module a command, progress and output."""
