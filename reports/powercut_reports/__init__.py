"""Reports of a powercut run for people: text, JSON and one self-contained HTML page.

Input is run records and finding records (`powercut_records`), which `powercut` puts together from the engine's
events (EVENTS.md) and writes to disk (checker/RUN.md). Nothing here knows the engine.
"""
