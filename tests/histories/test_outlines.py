"""The check that says "patch or accept" when an edit of a workflow would break replay (X6)."""

import pytest

from tests.histories.outlines.check import Verdict, accepted, examine, examine_all, read_recorded
from tests.histories.outlines.outline import Workflow, parse, workflows
from tests.histories.outlines.project import Project, our_source, our_workflow_modules
from worker import WORKFLOWS

LETTER = '''
"""Carries letters."""
from datetime import timedelta
from temporalio import workflow
from workflows.stamps import Stamps, dear

_MOST = 3
_STEPS = {"air": (Post.fly, 1), "sea": (Post.sail, 2)}


@workflow.defn
class LetterWorkflow:
    def __init__(self) -> None:
        self._stamps = Stamps("red")
        self._again = False

    @workflow.run
    async def run(self, letter: Letter) -> str:
        """Weighs, pays, waits."""
        weight = await self._weigh(letter)
        if weight.grams > _MOST:
            await self._stamps.buy(dear, "to pay", limit=weight.grams)
        while not self._is_over(weight):
            await self._stamps.lick()
            await workflow.sleep(timedelta(hours=1), summary="glue dries")
        await self._carry(_STEPS[letter.way], letter)
        return "carried"

    @workflow.signal(name="look")
    def look_again(self) -> None:
        self._again = True

    @workflow.update
    async def readdress(self, to: str) -> None:
        await workflow.execute_activity(change_address, to)

    def _is_over(self, weight: Weight) -> bool:
        return self._again or _is_light(weight)

    async def _weigh(self, letter: Letter) -> Weight:
        return await workflow.execute_activity(
            weigh, letter, start_to_close_timeout=timedelta(minutes=1), retry_policy=POLICY
        )

    async def _carry(self, step: tuple, letter: Letter) -> None:
        carry, days = step
        await workflow.execute_activity(carry, letter)
        await workflow.wait_condition(lambda: self._again, timeout=timedelta(days=days))


def _is_light(letter: Weight) -> bool:
    return letter.grams == 0
'''
STAMPS = """
from temporalio import workflow


class Stamps:
    def __init__(self, colour: str) -> None:
        self._colour = colour

    async def buy(self, activity, why: str, *, limit: int) -> None:
        await workflow.execute_activity(activity, limit, summary=why)

    async def lick(self) -> None:
        await workflow.start_child_workflow("Tongue", id=tongue_id(self._colour))
"""
OUTLINE = """\
run
  activity weigh
  if $1.grams > 3
    activity dear
  while not self._is_over($1)
    child Tongue, id tongue_id
    timer
  activity one of fly, sail
  wait until self._again, or a timer
signal look
update readdress
  activity change_address
decided by LetterWorkflow._is_over
  return self._again or _is_light($1)
decided by _is_light
  return $1.grams == 0
"""


def read(letter: str = LETTER, stamps: str = STAMPS) -> Workflow:
    sources = {"workflows.letter": letter, "workflows.stamps": stamps}
    (only,) = workflows(Project(sources.get), ["workflows.letter"])
    return only


RECORDED = accepted(read(), None).written()


def after(before: str, instead: str, *, code: str = LETTER, recorded: str = RECORDED) -> Verdict:
    """What is said of an edit of the workflow."""
    assert before in code
    return examine(read(code.replace(before, instead)), recorded)


def test_x6_an_outline_is_what_produces_commands_and_what_decides_about_it() -> None:
    assert RECORDED.partition("\n\n")[2] == OUTLINE
    assert examine(read(), RECORDED) == Verdict("LetterWorkflow")


HARMLESS = {
    "a local is renamed": ("weight", "heft"),
    "a comment, a docstring": ('"""Weighs, pays, waits."""', "# as it must be"),
    "a reformatting": ("letter, start_to_close_timeout=", "letter,\n                start_to_close_timeout="),
    "a timeout": ("minutes=1", "minutes=2"),
    "a retry policy": ("retry_policy=POLICY", "retry_policy=OTHER"),
    "a summary": ("glue dries", "the glue dries"),
    "how long a timer takes": ("hours=1", "hours=2"),
    "a constant's name": ("_MOST", "_LIGHT"),
    "a branch without commands": ('return "carried"', 'if letter: log("carried")\n        return "done"'),
    "a line of the log": (
        "return self._again or",
        "workflow.logger.info('x')\n        return self._again or",
    ),
    "a helper's name": ("_weigh", "_put_on_scales"),
    "a step that is moved out of its helper": (
        "await self._weigh(letter)",
        "await workflow.execute_activity(weigh, letter)",
    ),
}


@pytest.mark.parametrize("edit", HARMLESS.values(), ids=list(HARMLESS))
def test_x6_edits_that_no_replay_notices_are_passed_over(edit: tuple[str, str]) -> None:
    assert after(*edit) == Verdict("LetterWorkflow")


SLEEP = '            await workflow.sleep(timedelta(hours=1), summary="glue dries")\n'
CARRY = "        await self._carry(_STEPS[letter.way], letter)\n"
EXTRA = "await workflow.execute_activity(seal, letter)"
HARMFUL = {
    "an activity is added": (CARRY, f"        {EXTRA}\n{CARRY}", "+activity seal"),
    "an activity is another one": ("weigh, letter, start", "measure, letter, start", "+activity measure"),
    "the order is another": (
        "await self._stamps.lick()\n" + SLEEP,
        SLEEP.lstrip() + "            await self._stamps.lick()\n",
        "-  timer",
    ),
    "a timer is removed": (SLEEP, "", "-  timer"),
    "a wait has no timer any more": (", timeout=timedelta(days=days)", "", "-wait until self._again, or"),
    "a condition is another": ("> _MOST", ">= _MOST", "+if $1.grams >= 3"),
    "a constant in a condition": ("_MOST = 3", "_MOST = 4", "+if $1.grams > 4"),
    "what a condition relies on": ("grams == 0", "grams <= 0", "+return $1.grams <= 0"),
    "it leaves early": ("if weight.grams >", "if weight: return\n        if weight.grams >", "+  return"),
    "an error is caught": (
        CARRY,
        "        try:\n    " + CARRY + "        except ActivityError:\n            pass\n",
        "+except ActivityError",
    ),
    "one of a table": ("Post.sail", "Post.row", "+activity one of fly, row"),
    "a signal is gone": ('name="look"', 'name="see"', "signal look is gone"),
}  # fmt: skip


@pytest.mark.parametrize("edit", HARMFUL.values(), ids=list(HARMFUL))
def test_x6_edits_that_break_replay_are_shown(edit: tuple[str, str, str]) -> None:
    before, instead, shown = edit
    complaint = after(before, instead).complaint
    assert complaint is not None
    assert shown in complaint
    assert "workflow.patched" in complaint
    assert "make outlines" in complaint


def test_x6_edits_of_helpers_count() -> None:
    renamed = read(stamps=STAMPS.replace('"Tongue"', '"Sponge"'))
    assert "+  child Sponge" in str(examine(renamed, RECORDED).complaint)


# Places where a step, or what decides about it, is easily overlooked.
OVERLOOKED = {
    "a comprehension's condition": (
        "[await workflow.execute_activity(seal, page) for page in letter if page.open]",
        "if page.open",
        "if page.wide",
        "+  if $1.wide",
    ),
    "before an `and`": (
        f"sealed = letter.open and {EXTRA}",
        "letter.open",
        "letter.wide",
        "+if $1.wide",
    ),
    "before an `or`": (f"sealed = letter.shut or {EXTRA}", "letter.shut", "letter.wide", "+unless $1.wide"),
    "a function inside a function": (
        f"async def seal_it(to):\n            if to.open: {EXTRA}\n        await seal_it(letter)",
        "seal, letter",
        "press, letter",
        "+  activity press",
    ),
    "a command imported by its name": (
        "from temporalio.workflow import sleep\n        await sleep(5)",
        "await sleep(5)",
        "pass",
        "-timer",
    ),
    "an id that is put together in place": (
        "await workflow.start_child_workflow('Seal', id=f'seal-{letter.id}')",
        "f'seal-",
        "f'wax-",
        "+child Seal, id wax-…",
    ),
    "how an id is made": (
        "await workflow.start_child_workflow('Seal', id=_seal_id(letter))",
        "f'seal-",
        "f'wax-",
        "+return f'wax-{$1.id}'",
    ),
    "what an activity is called": (
        "await workflow.execute_activity(stick, letter)",
        "name='stick'",
        "name='glue'",
        "+activity glue",
    ),
}
BELOW = """

def _seal_id(letter: Letter) -> str:
    return f'seal-{letter.id}'


@activity.defn(name='stick')
async def stick(letter: Letter) -> None: ...
"""


@pytest.mark.parametrize("edit", OVERLOOKED.values(), ids=list(OVERLOOKED))
def test_x6_no_place_is_overlooked(edit: tuple[str, str, str, str]) -> None:
    step, before, instead, shown = edit
    code = LETTER.replace(CARRY, f"        {step}\n{CARRY}") + BELOW
    recorded = accepted(read(code), None).written()
    assert shown in str(after(before, instead, code=code, recorded=recorded).complaint)


def test_x6_what_a_function_inside_a_function_calls_its_variables_is_no_matter() -> None:
    step = "        async def seal_it(to):\n            if to.open and heft: await self._carry(to, letter)\n"
    code = LETTER.replace(CARRY, f"        heft = letter.heft\n{step}        await seal_it(letter)\n")
    recorded = accepted(read(code), None).written()
    assert after("heft", "load", code=code, recorded=recorded) == Verdict("LetterWorkflow")
    assert after(
        "(to)", "(it)", code=code.replace("to.", "it.").replace("(to,", "(it,"), recorded=recorded
    ) == (Verdict("LetterWorkflow"))


def test_x6_a_workflow_is_recorded_under_the_name_that_histories_have() -> None:
    assert read(LETTER.replace("@workflow.defn", "@workflow.defn(name='Letter')")).name == "Letter"


GUARDED = f"        if workflow.patched('sealed'):\n            {EXTRA}\n"


@pytest.mark.parametrize(
    "guarded",
    [
        GUARDED + CARRY,
        f"{GUARDED}            await workflow.sleep(5)\n        else:\n    {CARRY}",
        f"        if not workflow.patched('sealed'):\n    {CARRY}        else:\n            {EXTRA}\n",
        f"        new = workflow.patched('sealed')\n        if letter and new:\n            {EXTRA}\n{CARRY}",
        f"        for page in letter:\n            if workflow.patched('sealed'): {EXTRA}\n{CARRY}",
    ],
    ids=["added", "replaced", "the other way round", "one of two conditions", "in a loop without commands"],
)
def test_x6_an_edit_behind_a_patch_passes(guarded: str) -> None:
    assert "guarded by patch sealed" in str(after(CARRY, guarded).remark)


def test_x6_a_patch_guards_only_what_is_behind_it() -> None:
    verdict = after(CARRY, f"{GUARDED}        await workflow.sleep(5)\n{CARRY}")
    assert "+timer" in str(verdict.complaint)
    assert "seal" not in str(verdict.complaint), "the guarded part is no reason to complain"


def test_x6_a_new_handler_is_safe_for_runs_that_never_heard_of_it() -> None:
    verdict = after(
        "    @workflow.update", "    @workflow.signal\n    def stop(self): ...\n\n    @workflow.update"
    )
    assert "new: signal stop" in str(verdict.remark)


def test_x6_what_a_recorded_patch_guards_is_as_fixed_as_the_rest() -> None:
    patched = LETTER.replace(CARRY, GUARDED + CARRY)
    recorded = accepted(read(patched), RECORDED).written()
    assert parse(recorded).version == 1, "safe for running workflows: no other version"
    assert "+  activity press" in str(after("(seal,", "(press,", code=patched, recorded=recorded).complaint)
    ends = after(GUARDED, f"        workflow.deprecate_patch('sealed')\n        {EXTRA}\n", code=patched,
                 recorded=recorded)  # fmt: skip
    assert "ends the time of patch sealed" in str(ends.complaint)


def test_x6_a_patch_goes_in_two_steps_and_each_names_the_runs_that_must_have_ended() -> None:
    patched = LETTER.replace(CARRY, GUARDED + CARRY)
    bare = f"        {EXTRA}\n"
    deprecated = f"        workflow.deprecate_patch('sealed')\n{bare}"
    first = accepted(read(patched), RECORDED).written()
    assert "TemporalChangeVersion IS NULL" in str(
        after(GUARDED, deprecated, code=patched, recorded=first).complaint
    )
    too_soon = str(after(GUARDED, bare, code=patched, recorded=first).complaint)
    assert "workflow.deprecate_patch('sealed')" in too_soon
    assert "TemporalChangeVersion" not in too_soon, "it would count none, and all would stop"
    second = accepted(read(LETTER.replace(CARRY, deprecated + CARRY)), first).written()
    gone = str(after(GUARDED, bare, code=patched, recorded=second).complaint)
    assert "StartTime < 'the time of that release'" in gone
    assert "TemporalChangeVersion" not in gone


def test_x6_accepting_what_breaks_replay_is_another_version() -> None:
    edited = read(LETTER.replace(SLEEP, ""))
    outline = accepted(edited, RECORDED)
    assert outline.version == 2
    assert examine(edited, outline.written()) == Verdict("LetterWorkflow")


def test_x6_outlines_that_were_edited_or_forgotten_are_named() -> None:
    assert "edited by hand" in str(examine(read(), RECORDED.replace("weigh", "guess")).complaint)
    assert "not recorded" in str(examine(read(), None).complaint)
    (gone,) = examine_all([], {"LetterWorkflow": RECORDED})
    assert "is gone" in str(gone.complaint)


def test_x6_every_workflow_of_the_worker_has_an_outline() -> None:
    found = {workflow.name for workflow in workflows(Project(our_source), our_workflow_modules())}
    assert found == {workflow.__name__ for workflow in WORKFLOWS} == set(read_recorded())
