"""Programs of the user: how they are recorded, under which tracer, and explored with their own recovery."""
