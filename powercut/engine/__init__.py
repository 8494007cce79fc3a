"""The engine as a process: starting and ending it, its event stream, the options that it takes."""
