"""Compares each workflow's outline with the recorded one: an edit that would break replay is to be patched.

A run that is under way was recorded without the patches that are new in this edit, so it takes their other
branches. If what is left then is what was recorded, it replays.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.histories.outlines.outline import (
    EditedByHand,
    Outline,
    Sections,
    Workflow,
    parse,
    with_patch_taken,
    without_deprecations,
)

RECORDED = Path(__file__).parent / "recorded"
_UNPATCHED = """\
{name}'s commands changed:
{diff}
Running workflows were recorded with the old order. Either guard the change with workflow.patched('…'),
or, if none of them can be running (never released, or ended before the upgrade), accept it with
`make outlines`. docs/upgrading.md shows both."""
_ENDED = """\
{name} ends the time of patch {patch}. That is right once no run is left from before it:
  temporal workflow count -q "WorkflowType='{name}' AND ExecutionStatus='Running' AND
    (TemporalChangeVersion IS NULL OR TemporalChangeVersion != '{patch}')"
If that finds none: `make outlines` (docs/upgrading.md)."""
_TOO_SOON = """\
{name} does not ask for patch {patch} any more. Runs that have its mark would stop: first replace it by
workflow.deprecate_patch('{patch}'), and release that (docs/upgrading.md)."""
_DROPPED = """\
{name} has no word of patch {patch} any more. That is right once no run is left from before it was deprecated:
  temporal workflow count -q "WorkflowType='{name}' AND ExecutionStatus='Running' AND
    StartTime < 'the time of that release'"
If that finds none: `make outlines` (docs/upgrading.md)."""
_GONE = "{name} is gone, but was recorded. If none can be running, `make outlines` forgets it."
_UNKNOWN = "{name} is not recorded yet: `make outlines`."
_BY_HAND = (
    "{name}'s outline was edited by hand, or merged: `make outlines` writes it anew, then look at the diff."
)


@dataclass(frozen=True)
class Verdict:
    name: str
    complaint: str | None = None
    """Why the check fails."""
    remark: str | None = None
    """What changed, though no running workflow will notice."""


def examine(workflow: Workflow, recorded: str | None) -> Verdict:
    if recorded is None:
        return Verdict(workflow.name, _UNKNOWN.format(name=workflow.name))
    try:
        old = parse(recorded)
    except EditedByHand:
        return Verdict(workflow.name, _BY_HAND.format(name=workflow.name))
    now = workflow.sections()
    if now == old.sections:
        return Verdict(workflow.name)
    seen = workflow.sections(known=old.patches)
    if any(seen.get(title) != section for title, section in old.sections.items()):
        return Verdict(workflow.name, _complaint(old, seen, now))
    return Verdict(workflow.name, remark=_remark(old, Outline(old.name, old.version, now)))


def examine_all(workflows: Iterable[Workflow], recorded: Mapping[str, str]) -> Iterator[Verdict]:
    names = set()
    for workflow in workflows:
        names.add(workflow.name)
        yield examine(workflow, recorded.get(workflow.name))
    for name in sorted(set(recorded) - names):
        yield Verdict(name, _GONE.format(name=name))


def accepted(workflow: Workflow, recorded: str | None) -> Outline:
    """What is to be recorded: the next version, if running workflows could not be replayed by it."""
    version = 1
    if recorded is not None:
        try:
            version = parse(recorded).version
        except EditedByHand:
            version = int(recorded.partition("version ")[2].partition(",")[0])
        version += examine(workflow, recorded).complaint is not None
    return Outline(workflow.name, version, workflow.sections())


def read_recorded(folder: Path = RECORDED) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted(folder.glob("*.txt"))}


def _complaint(old: Outline, seen: Sections, now: Sections) -> str:
    new = Outline(old.name, old.version, now)
    for patch in sorted((old.patches - new.patches) | (new.deprecated - old.deprecated)):
        if without_deprecations(with_patch_taken(old.sections, patch)) == without_deprecations(now):
            return _said_of(patch, old, new).format(name=old.name, patch=patch)
    return _UNPATCHED.format(name=old.name, diff="\n".join(_difference(old.sections, seen)))


def _said_of(patch: str, old: Outline, new: Outline) -> str:
    """A patch's life has three releases: asked for, deprecated, gone."""
    if patch in new.deprecated:
        return _ENDED
    return _DROPPED if patch in old.deprecated else _TOO_SOON


def _difference(before: Sections, after: Sections) -> Iterator[str]:
    for title, section in before.items():
        if section == after.get(title):
            continue
        yield f"  {title}" if title in after else f"  {title} is gone"
        for line in list(difflib.unified_diff(section, after.get(title, ()), lineterm="", n=2))[2:]:
            yield "    …" if line.startswith("@@") else f"    {line}"


def _remark(old: Outline, now: Outline) -> str:
    patches = sorted(now.patches - old.patches)
    added = [title for title in now.sections if title not in old.sections and not title.startswith("decided")]
    why = [*(f"guarded by patch {patch}" for patch in patches), *(f"new: {title}" for title in added)]
    return f"{old.name} changed, safely ({', '.join(why)}); `make outlines` records it before the release."
