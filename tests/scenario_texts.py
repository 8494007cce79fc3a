"""Texts of scenarios, as TOML."""


def scenario_text(name: str, target: str, *steps: str, before: str = "", schema: int = 1, **tables: str) -> str:
    """A scenario of one explored phase; the step `before` runs in a phase before it, which is not explored.

    Each step, and the fields of each of `tables` (`config`, `pool`, `data`), are TOML.
    """
    fields = "".join(f"[{table}]\n{content}\n" for table, content in tables.items())
    warm_up = f'[[phase]]\nname = "warm-up"\nexplore = false\nsteps = [{{ {before} }}]\n' if before else ""
    listed = "\n".join(f"  {{ {step} }}," for step in steps)
    return f"""\
schema = {schema}
name = "{name}"
summary = "For a test."
targets = ["{target}"]
{fields}{warm_up}[[phase]]
name = "run"
steps = [
{listed}
]
"""
