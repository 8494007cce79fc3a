"""What every other room needs: errors and exit codes, paths, files that people wrote, trust, cores."""
