"""The engine's messages in the words of the command line that a person typed.

The engine is a program of its own, with options that nobody but this package gives. Where its errors name one of them,
people read the option that it came from, or what they can do instead.
"""

import re

#: The engine's options, and what a person has given or can give in their place.
OPTIONS = {
    "--budget-executions": "--budget",
    "--budget-seconds": "--budget",
    "--watchdog-seconds": "--watchdog",
    "--work": "POWERCUT_WORK=FOLDER",
}
_OPTION = re.compile(r"--[a-z][a-z-]*\b")
#: Of a command line that the engine does not take.
_REFUSED = "powercut-engine"


def told(text: str) -> str:
    """A text of the engine with the options that people know."""
    return _OPTION.sub(lambda match: OPTIONS.get(match[0], match[0]), text)


def usage(what: str, where: str, next_step: str) -> tuple[str, str, str]:
    """The three parts of an error of usage."""
    if where.startswith(_REFUSED):
        return told(what), "powercut", "An option has a value that cannot be taken; 'powercut VERB --help' shows them."
    return told(what), told(where), told(next_step)
