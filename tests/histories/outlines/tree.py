"""The tree of an outline: pruned until only what matters for a replay is left, then written as lines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

INDENT = "  "


class Kind(Enum):
    COMMAND = "command"
    JUMP = "jump"
    """Leaves early: what comes after it may not happen."""
    BLOCK = "block"
    """A loop, or anything else around what it holds."""
    GROUP = "group"
    """Branches (if and else, try and its handlers), of which one is taken or several in turn."""
    CALL = "call"
    """What a helper does; without a name, so that to move code into one changes nothing."""


@dataclass(frozen=True)
class Node:
    kind: Kind
    text: str = ""
    children: tuple["Node", ...] = ()
    patch: str | None = None
    """Of a branch that only a patched run takes, or of a command: the patch's id."""
    decides: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    """Functions and constants that the text names: what they say decides, too."""


def command(text: str, patch: str | None = None) -> Node:
    return Node(Kind.COMMAND, text, patch=patch)


def everything(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from everything(node.children)


def has_commands(nodes: Iterable[Node]) -> bool:
    return any(node.kind is Kind.COMMAND for node in everything(nodes))


def _leaves(nodes: Iterable[Node]) -> bool:
    return any(node.kind is Kind.JUMP for node in everything(nodes))


def without_patches(nodes: Iterable[Node], known: frozenset[str]) -> tuple[Node, ...]:
    """As a run sees it that began before any patch but the known ones: it takes the other branch."""
    kept: list[Node] = []
    for node in nodes:
        if node.kind is Kind.COMMAND and node.patch is not None and node.patch not in known:
            continue
        first = node.children[0] if node.kind is Kind.GROUP else None
        if first is not None and first.patch is not None and first.patch not in known:
            for branch in node.children[1:]:
                kept += without_patches(branch.children, known)
            continue
        kept.append(replace(node, children=without_patches(node.children, known)))
    return tuple(kept)


def pruned(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Without what produces no command and changes the way to none."""
    kept: list[Node] = []
    for node in nodes:
        if node.kind is Kind.GROUP:
            kept += _group(node)
            continue
        inner = replace(node, children=pruned(node.children))
        if node.kind in (Kind.COMMAND, Kind.JUMP):
            kept.append(inner)
        elif node.kind is Kind.CALL:
            kept += _call(inner)
        elif has_commands(inner.children) or _leaves(inner.children):
            kept.append(inner)
    return tuple(kept)


def _call(node: Node) -> tuple[Node, ...]:
    if not has_commands(node.children):
        return ()
    body = without_last_return(node.children)
    returns_early = any(inner.text.startswith("return") for inner in _own_jumps(body))
    # A return in the middle leaves the helper, not whoever called it.
    return (replace(node, text="do", children=node.children),) if returns_early else body


def without_last_return(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    is_last = nodes and nodes[-1].kind is Kind.JUMP and nodes[-1].text.startswith("return")
    return nodes[:-1] if is_last else nodes


def _own_jumps(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        if node.kind is Kind.JUMP:
            yield node
        if node.kind is not Kind.CALL:
            yield from _own_jumps(node.children)


def _group(node: Node) -> tuple[Node, ...]:
    """If any of its branches matters, all of them stay, empty or not; only an empty `else` says nothing."""
    branches = [replace(branch, children=pruned(branch.children)) for branch in node.children]
    if not any(has_commands(branch.children) or _leaves(branch.children) for branch in branches):
        return ()
    while branches and branches[-1].text == "else" and not branches[-1].children:
        branches.pop()
    if branches[0].text.startswith("if ") and len(branches[-1].children) == 1:
        branches[-1:] = _else_if(branches[-1])
    return (replace(node, children=tuple(branches)),)


def _else_if(branch: Node) -> tuple[Node, ...]:
    """As a chain, where the other branch is nothing but another choice."""
    (only,) = branch.children
    if branch.text != "else" or only.kind is not Kind.GROUP or not only.children[0].text.startswith("if "):
        return (branch,)
    first, *rest = only.children
    return replace(first, text=f"else {first.text}"), *rest


def lines(nodes: Iterable[Node], depth: int = 0) -> list[str]:
    written: list[str] = []
    for node in nodes:
        if node.kind is Kind.GROUP:
            written += lines(node.children, depth)
            continue
        written.append(INDENT * depth + node.text)
        written += lines(node.children, depth + 1)
    return written


def decisions(nodes: Iterable[Node]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for node in everything(nodes):
        found |= node.decides
    return dict(sorted(found.items()))
