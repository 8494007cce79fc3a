"""The foundation of all rooms: errors and exit codes, paths, files that people wrote, trust, cores."""
