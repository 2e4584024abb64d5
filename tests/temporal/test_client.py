"""What is said where a server leaves namespaces and the like to its owners, as Temporal Cloud does."""

import pytest
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import PermanentError
from fascicle.temporal.client import done_elsewhere


@pytest.mark.parametrize("status", [RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED])
def test_x7_what_is_done_elsewhere_is_said_to_be(status: RPCStatusCode) -> None:
    with pytest.raises(PermanentError) as told, done_elsewhere("create the namespace there"):
        raise RPCError("Request unauthorized.", status, b"")
    assert told.value.code == "temporal_not_allowed"
    assert "(Request unauthorized.). On Temporal Cloud, create the namespace there." in told.value.message


def test_other_refusals_stay_what_they_are() -> None:
    with pytest.raises(RPCError, match="too busy"), done_elsewhere(""):
        raise RPCError("too busy", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
