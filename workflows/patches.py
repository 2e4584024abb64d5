"""Which of two ways a run goes where an edit changed its steps (docs/upgrading.md)."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from fascicle.domain.names import BORN_PATCHED


def is_patched(patch: str, code: int) -> bool:
    """Like `workflow.patched`, without its marker and search attribute for a run that is born with the patch.

    `code`: the number of the code that started the run, from its input. A replay asks all the same: a worker
    of an earlier version, which knows no numbers, may have left its marker.
    """
    is_born_with_it = code >= BORN_PATCHED[patch]
    if is_born_with_it and not workflow.unsafe.is_replaying():
        return True
    return workflow.patched(patch) or is_born_with_it
