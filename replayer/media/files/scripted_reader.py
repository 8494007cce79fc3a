"""A reader that a seed scripts, on each tree of the brute force. The engine has the same reader (scripted_reader.h)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .trees import Shown, Tree

SECTORS = 4
_MASK = (1 << 64) - 1


def transcripts(trees: Iterable[Tree], seed: int, questions: int, paths: Sequence[str], *, sector: int) -> set[str]:
    """The transcripts of the questions and answers, on each of the trees."""
    return {_transcript(dict(tree), seed, questions, paths, sector) for tree in trees}


def _transcript(tree: Mapping[str, Shown], seed: int, questions: int, paths: Sequence[str], sector: int) -> str:
    text = ""
    told: dict[tuple[str, ...], str] = {}
    for _ in range(questions):
        choices = [each for each in _choices(told, paths) if each not in told]
        if not choices:
            break
        hashed = (14695981039346656037 + seed) & _MASK
        for byte in text.encode():
            hashed = ((hashed ^ byte) * 1099511628211) & _MASK
        chosen = choices[(hashed >> 33) % len(choices)]
        told[chosen] = _answer(tree, chosen, sector)
        text += f"{' '.join(chosen)}={told[chosen]};"
    return text


def _choices(told: Mapping[tuple[str, ...], str], paths: Sequence[str]) -> Iterable[tuple[str, ...]]:
    yield ("names", "")
    for path in paths:
        folder = path.rpartition("/")[0]
        if not folder or told.get(("name", folder)) == "folder":
            yield ("name", path)
        kind = told.get(("name", path))
        if kind == "folder":
            yield ("names", path)
        if kind == "file":
            yield ("size", path)
            yield from (("sector", path, str(number)) for number in range(SECTORS))


def _answer(tree: Mapping[str, Shown], question: tuple[str, ...], sector: int) -> str:
    path = question[1]
    if question[0] == "names":
        below = f"{path}/" if path else ""
        names = (each[len(below) :] for each in tree if each.startswith(below) and "/" not in each[len(below) :])
        return "".join(f"{name}/" for name in sorted(names))
    if path not in tree:
        return "nothing"
    kind, target, content = tree[path]
    if question[0] == "name":
        return f"link {target}" if kind == "link" else kind
    sizes = [each if isinstance(each, int) else len(each) for each in content]
    if question[0] == "size":
        return str(sum(sizes))
    number = int(question[2])
    if number >= len(content):
        return "end"
    each = content[number]
    return "?" * each if isinstance(each, int) else each.hex()
