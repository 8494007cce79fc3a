"""Tools of the maintainers; no part of the package that users install."""
