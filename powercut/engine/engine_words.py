"""The engine's messages in the words of the command line that a person typed.

The engine is a program of its own, with options that nobody but this package gives. Where its errors name one of them,
people read the option that it came from, or what they can do instead.
"""

import errno
import os
import re

from powercut.base import resources

#: The engine's options, and what a person has given or can give in their place.
OPTIONS = {
    "--budget-executions": "--budget",
    "--budget-seconds": "--budget",
    "--watchdog-seconds": "--watchdog",
    "--work": "POWERCUT_WORK=FOLDER",
}
#: Sentences that are right for the engine's own command line alone.
SENTENCES = {
    "Name it with --pool-path FILE.": "Record or import it again with a pool that has a name.",
    "Name a file that 'explore --checkpoint' wrote.": "Run it again without --resume.",
}
_OPTION = re.compile(r"--[a-z][a-z-]*\b")
_LIMITS = (errno.EFBIG, errno.EMFILE, errno.EDQUOT)
#: Where an error stands, by the word of the engine, if it does not take its command line.
_REFUSED = "powercut-engine"


def told(text: str) -> str:
    """A text of the engine with the options that people know."""
    for sentence, ours in SENTENCES.items():
        text = text.replace(sentence, ours)
    return _OPTION.sub(lambda match: OPTIONS.get(match[0], match[0]), text)


def next_step(what: str, ours: str) -> str:
    """Returns the next step: about a limit of the system if the engine has met one, else the engine's own advice."""
    met = next((number for number in _LIMITS if os.strerror(number) in what), None)
    return resources.advice(met) or told(ours)


def usage(what: str, where: str, ours: str) -> tuple[str, str, str]:
    """The three parts of an error of usage."""
    if where.startswith(_REFUSED):
        return told(what), "powercut", "An option has a value that cannot be taken; 'powercut VERB --help' shows them."
    return told(what), told(where), next_step(what, ours)
