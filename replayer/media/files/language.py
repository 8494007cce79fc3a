"""The plain language of litmus tests: one call a line, names are paths, a letter is a sector of that letter.

`LITMUS.md` beside this file is its page. A sector is one byte here, so that a tree is short text: `a=X0 b=- d/ l->a`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from .calls import ROOT, Call, CallError, checked, split
from .trees import BAD, FOLDER, Tree

SECTOR = 1


class LanguageError(ValueError):
    """A line or a tree that cannot be read; the message says which one and why."""


class Reader:
    """Turns lines into calls. It knows which name leads to which inode, as the program that made the calls did."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, str], int] = {}
        self.kinds = {ROOT: "folder"}
        self.sizes = {ROOT: 0}
        self.nameless: dict[str, int] = {}

    def start(self, tree: str) -> Iterator[Call]:
        """The durable tree at the beginning. `b==a` is a second name of the file a."""
        for word in tree.split():
            if "==" in word:
                path, _, other = word.partition("==")
                yield self._enter("entry", path, self.inode(other))
                continue
            path, kind, rest = parse_name(word)
            inode = self._new(kind, len(rest) if kind == "file" else 0)
            target, data = rest if kind == "link" else "", data_of(rest) if kind == "file" else b""
            yield Call("inode", inode, kind=kind, target=target, data=data)
            yield self._enter("entry", path, inode)

    def call(self, line: str) -> Call:
        """The call of one line. LanguageError, or CallError, for another one."""
        op, *words = line.split()
        try:
            return checked(self._call(op, words))
        except (ValueError, IndexError, KeyError) as error:
            if isinstance(error, CallError | LanguageError):
                raise LanguageError(f"'{line}': {error}") from error
            raise LanguageError(f"cannot read '{line}'; replayer/media/files/LITMUS.md has the calls.") from error

    def inode(self, path: str) -> int:
        if path in self.nameless:
            return self.nameless[path]
        inode = ROOT
        for part in path.split("/") if path != "." else ():
            inode = self.names.get((inode, part), 0)
            if not inode:
                raise LanguageError(f"there is no {path}.")
        return inode

    # -- lines -------------------------------------------------------------------------------------------------

    def _call(self, op: str, words: list[str]) -> Call:
        match op, words:
            case "creat" | "mkdir", [path]:
                kind = "file" if op == "creat" else "folder"
                return replace(self._enter("create", path, self._new(kind, 0), new=True), kind=kind)
            case "symlink", [target, path]:
                made = self._enter("create", path, self._new("link", 0), new=True)
                return replace(made, kind="link", target=target)
            case "link" | "linkat", [old, new]:
                return self._enter("link", new, self.inode(old), new=True)
            case "tmpfile", [name]:
                self.nameless[name] = self._new("file", 0)
                return Call("inode", self.nameless[name])
            case "unlink" | "rmdir", [path]:
                folder, name = self._place(path)
                self.inode(path)
                del self.names[folder, name]
                return Call("unlink", folder=folder, name=name)
            case "rename" | "exchange", [old, new]:
                return self._rename(old, new, exchange=op == "exchange")
            case "pwrite", [path, offset, letters, *through]:
                return self._write(path, int(offset), letters, through)
            case "append", [path, letters, *through]:
                return self._write(path, self.sizes[self.inode(path)], letters, through)
            case "truncate", [path, size]:
                self.sizes[self.inode(path)] = int(size)
                return Call("size", self.inode(path), size=int(size))
            case "allocate", [path, offset, length, *mode]:
                call = Call(
                    "allocate", self.inode(path), offset=int(offset), length=int(length), mode=(*mode, "extend")[0]
                )
                if call.mode in ("extend", "zero"):
                    self.sizes[call.inode] = max(self.sizes[call.inode], call.offset + call.length)
                return call
            case "fsync" | "fdatasync", [path]:
                return Call("sync", self.inode(path), what="file" if op == "fsync" else "data")
            case "msync" | "sync_file_range", [path, offset, length]:
                what = "range" if op == "msync" else "started"
                return Call("sync", self.inode(path), what=what, offset=int(offset), length=int(length))
            case "sync", []:
                return Call("sync-all")
            case "begin" | "end", []:
                return Call(op)
        raise LanguageError("no such call; replayer/media/files/LITMUS.md has the calls.")

    def _new(self, kind: str, size: int) -> int:
        inode = len(self.kinds) + 1
        self.kinds[inode], self.sizes[inode] = kind, size
        return inode

    def _place(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self.inode(folder or "."), name

    def _enter(self, op: str, path: str, inode: int, *, new: bool = False) -> Call:
        folder, name = self._place(path)
        if new and (folder, name) in self.names:
            raise LanguageError(f"{path} is there already.")
        self.names[folder, name] = inode
        return Call(op, inode, folder, name)

    def _rename(self, old: str, new: str, *, exchange: bool) -> Call:
        (folder, name), (to_folder, to_name) = self._place(old), self._place(new)
        moved = self.inode(old)
        if exchange:
            self.names[folder, name] = self.inode(new)
        elif self.names.get((to_folder, to_name)) != moved:
            del self.names[folder, name]
        self.names[to_folder, to_name] = moved
        return Call("rename", 0, folder, name, to_folder, to_name, exchange)

    def _write(self, path: str, offset: int, letters: str, through: list[str]) -> Call:
        ways = {"dsync": "data", "sync": "all"}
        call = Call("write", self.inode(path), offset=offset, data=data_of(letters))
        self.sizes[call.inode] = max(self.sizes[call.inode], offset + len(letters))
        return replace(call, through=ways[through[0]]) if through else call


def program(start: str, lines: Iterator[str] | list[str]) -> tuple[list[Call], int]:
    """The calls of a test, and the number of effects before the line `crash`, else of all."""
    reader = Reader()
    calls = list(reader.start(start))
    cut: int | None = None
    for line in lines:
        if line in ("crash", "crash during"):
            if cut is not None:
                raise LanguageError("two crashes in one program; write two tests.")
            effects = [effect for call in calls for effect in split(call)]
            cut = len(effects) - (line == "crash during")
        else:
            calls.append(reader.call(line))
    return calls, sum(len(split(call)) for call in calls) if cut is None else cut


# -- trees -------------------------------------------------------------------------------------------------


def data_of(letters: str) -> bytes:
    if letters == "-":
        return b""
    if not re.fullmatch(r"[A-Z0]+", letters):
        raise LanguageError(f"'{letters}' is no content: capital letters, 0 for zeroes, - for 0 bytes.")
    return letters.replace("0", "\0").encode()


def parse_name(word: str) -> tuple[str, str, str]:
    """Path, kind, and content or target of one word of a tree."""
    if "->" in word:
        path, _, target = word.partition("->")
        return path, "link", target
    if word.endswith("/"):
        return word[:-1], "folder", ""
    path, equals, content = word.partition("=")
    if not equals or not content:
        raise LanguageError(f"'{word}' is no name of a tree: a=XY, b=-, d/, l->a.")
    return path, "file", content


def text_of(tree: Tree) -> str:
    """A tree as litmus tests write it."""
    words = []
    for path, shown in tree:
        kind, target, content = shown
        if shown == FOLDER:
            words.append(f"{path}/")
        elif shown == BAD:
            words.append(f"{path}=!")
        elif kind == "link":
            words.append(f"{path}->{target}")
        else:
            letters = "".join(
                "?" * sector if isinstance(sector, int) else sector.replace(b"\0", b"0").decode() for sector in content
            )
            words.append(f"{path}={letters or '-'}")
    return " ".join(words) or "."


def expand(pattern: str) -> list[str]:
    """The trees of a pattern: `a={-,X} {b=-,}` is four. Braces nest. The names come out in order."""
    trees = []
    for text in alternatives(pattern):
        words = [word for word in text.split() if word != "."]
        for word in words:
            _, kind, content = parse_name(word)
            if kind == "file" and not re.fullmatch(r"-|!|[A-Z0?]+", content):
                raise LanguageError(f"'{word}': '{content}' is no content.")
        trees.append(" ".join(sorted(words, key=lambda word: parse_name(word)[0])) or ".")
    return trees


def alternatives(pattern: str) -> list[str]:
    """The texts of a pattern with braces, each choice of the first pair with each of the others."""
    begin = pattern.find("{")
    if begin < 0:
        if "}" in pattern:
            raise LanguageError(f"'{pattern}': a brace without its other one.")
        return [pattern]
    depth, parts, last = 0, [], begin + 1
    for at in range(begin, len(pattern)):
        depth += {"{": 1, "}": -1}.get(pattern[at], 0)
        if depth == 0 or (depth == 1 and pattern[at] == ","):
            parts.append(pattern[last:at])
            last = at + 1
        if depth == 0:
            rest = alternatives(pattern[last:])
            return [pattern[:begin] + each + end for part in parts for each in alternatives(part) for end in rest]
    raise LanguageError(f"'{pattern}': a brace without its other one.")
