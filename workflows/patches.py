"""Choose between the old and the new steps of a workflow that was edited (docs/upgrading.md)."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from fascicle.domain.names import BORN_PATCHED


def is_patched(patch: str, code: int) -> bool:
    """Like `workflow.patched`, but a run that started with the patch gets no marker and no search attribute.

    `code`: the number of the code that started the run, from its input. A replay still calls
    `workflow.patched`: a worker of an earlier version, which knows no numbers, may have left a marker.
    """
    is_born_with_it = code >= BORN_PATCHED[patch]
    if is_born_with_it and not workflow.unsafe.is_replaying():
        return True
    return workflow.patched(patch) or is_born_with_it
