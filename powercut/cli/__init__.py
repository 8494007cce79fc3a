"""What people type and see: the command line, one module a command, progress and output."""
