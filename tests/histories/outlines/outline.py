"""An outline as a file: sections of lines, a version, and a digest against edits by hand."""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.histories.outlines.naming import given_name
from tests.histories.outlines.project import Found, Project
from tests.histories.outlines.reader import Reader
from tests.histories.outlines.scope import Scope
from tests.histories.outlines.tree import INDENT, Node, decisions, lines, pruned, without_last_return
from tests.histories.outlines.tree import without_patches as taken_before

_HEAD = re.compile(r"(?P<name>\w+): version (?P<version>\d+), digest (?P<digest>[0-9a-f]+)")
_NOTE = "Written by `make outlines`; docs/upgrading.md says what it is for."
_PATCH = re.compile(r"^\s*(?:(?:else )?if patched|patched|deprecated patch) (\S+)")
_DEPRECATED = re.compile(r"^\s*deprecated patch ")

Sections = dict[str, tuple[str, ...]]


class EditedByHand(Exception):
    """The digest does not fit: an edit, or two branches merged."""


@dataclass(frozen=True)
class Outline:
    name: str
    version: int
    sections: Sections

    @property
    def patches(self) -> frozenset[str]:
        said = [_PATCH.match(line) for section in self.sections.values() for line in section]
        return frozenset(match[1] for match in said if match)

    @property
    def deprecated(self) -> frozenset[str]:
        lines = [line for section in self.sections.values() for line in section if _DEPRECATED.match(line)]
        return frozenset(line.split()[-1] for line in lines)

    def written(self) -> str:
        body = _body(self.sections)
        return f"{self.name}: version {self.version}, digest {_digest(body)}\n{_NOTE}\n\n{body}"


def parse(text: str) -> Outline:
    head, _, rest = text.partition("\n")
    body = rest.partition("\n\n")[2]
    match = _HEAD.fullmatch(head)
    if match is None or match["digest"] != _digest(body):
        raise EditedByHand
    sections: dict[str, list[str]] = {}
    title = ""
    for line in body.splitlines():
        if line.startswith(INDENT):
            sections[title].append(line.removeprefix(INDENT))
        else:
            title = line
            sections[title] = []
    return Outline(match["name"], int(match["version"]), {k: tuple(v) for k, v in sections.items()})


def _body(sections: Sections) -> str:
    return "".join(
        f"{title}\n" + "".join(f"{INDENT}{line}\n" for line in section) for title, section in sections.items()
    )


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


class Workflow:
    """A workflow as its code is now."""

    def __init__(self, name: str, sections: Iterable[tuple[str, tuple[Node, ...]]]) -> None:
        self.name = name
        self._read = sections

    @cached_property
    def _sections(self) -> list[tuple[str, tuple[Node, ...]]]:
        return list(self._read)

    def sections(self, *, known: frozenset[str] | None = None) -> Sections:
        """All of it; or, with `known` patches, as a run sees it that has no other ones."""
        found: Sections = {}
        decided: Sections = {}
        for title, nodes in self._sections:
            seen = nodes if known is None else taken_before(nodes, known)
            kept = without_last_return(pruned(seen))
            found[title] = tuple(lines(kept))
            decided |= {f"decided by {name}": body for name, body in decisions(kept).items()}
        return found | dict(sorted(decided.items()))


def workflows(project: Project, modules: Sequence[str]) -> Iterator[Workflow]:
    reader = Reader(project)
    for name in modules:
        module = project.module(name)
        assert module is not None, name
        for definition in module.definitions.values():
            if isinstance(definition, ast.ClassDef) and _is_workflow(definition):
                scope = Scope(project, module)
                named = filter(None, (given_name(each, scope) for each in definition.decorator_list))
                yield Workflow(next(named, definition.name), reader.sections(Found(module, definition)))


def _is_workflow(definition: ast.ClassDef) -> bool:
    return any(ast.unparse(decorator).startswith("workflow.defn") for decorator in definition.decorator_list)


def with_patch_taken(sections: Sections, patch: str) -> Sections:
    """What is left when a patch has had its time: its branch without the condition, and no word of it."""
    return {title: tuple(_taken(section, patch)) for title, section in sections.items()}


def without_deprecations(sections: Sections) -> Sections:
    return {
        title: tuple(line for line in section if not _DEPRECATED.match(line))
        for title, section in sections.items()
    }


def _taken(section: Sequence[str], patch: str) -> Iterator[str]:
    place = 0
    while place < len(section):
        line = section[place]
        depth = _depth(line)
        if line.strip() != f"if patched {patch}":
            yield line
            place += 1
            continue
        then = _block(section, place)
        yield from (inner.removeprefix(INDENT) for inner in _taken(then, patch))
        place += 1 + len(then)
        while place < len(section) and _depth(section[place]) == depth and _is_else(section[place]):
            place += 1 + len(_block(section, place))


def _block(section: Sequence[str], place: int) -> list[str]:
    inner: list[str] = []
    for line in section[place + 1 :]:
        if _depth(line) <= _depth(section[place]):
            break
        inner.append(line)
    return inner


def _is_else(line: str) -> bool:
    return line.strip() == "else" or line.strip().startswith("else if ")


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
