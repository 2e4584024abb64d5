"""A worker gives back what a busy minute took."""

import gc
import weakref

from fascicle.process.heap import give_back, keep_few_arenas


class _Evicted:
    """As a workflow that left the cache: it is held by itself alone."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_in_circles_is_given_back_however_seldom_the_collector_looks() -> None:
    usual = gc.get_threshold()
    gc.set_threshold(0)
    try:
        evicted = weakref.ref(_Evicted())
        assert evicted() is not None
        give_back()
        assert evicted() is None
    finally:
        gc.set_threshold(*usual)


def test_arenas_can_be_limited_on_any_c_library() -> None:
    keep_few_arenas()
