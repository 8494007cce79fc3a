"""From addresses to functions, source lines and statements; the identity of a place across edits."""
