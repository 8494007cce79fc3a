"""A profile as a table that a person can read and doubt."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from powercut.models.profiles import Profile
from powercut.models.switches import CHOICES

WIDTH = 100


def lines(profile: Profile) -> list[str]:
    """A block for each switch: the question, the value with its meaning, the sources."""
    found = [f"{profile.name}: {profile.about}"]
    if profile.like:
        found.append(f"Like {profile.like}, but for the switches with '*'.")
    width = max(len(name) for name in CHOICES) + 2
    for name, choice in CHOICES.items():
        value = getattr(profile.switches, name)
        mark = "*" if profile.like and name in profile.own else ""
        found += ["", f"{name + mark:<{width}}{choice.asks}"]
        found.append(f"{'':<{width}}{value}: {choice.values[value]}.")
        for source in profile.sources[name]:
            found += [
                f"{'':<{width}}{'· ' if not number else '  '}{line}"
                for number, line in enumerate(wrap(source, WIDTH - width - 2))
            ]
    return found


def record(profile: Profile) -> dict[str, Any]:
    """The profile as a JSON object."""
    switches = {
        name: {
            "value": getattr(profile.switches, name),
            "meaning": choice.values[getattr(profile.switches, name)],
            "own": name in profile.own,
            "sources": list(profile.sources[name]),
        }
        for name, choice in CHOICES.items()
    }
    return {"name": profile.name, "about": profile.about, "like": profile.like, "switches": switches}
