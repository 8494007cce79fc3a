"""What maintainers run; no part of what users install."""
