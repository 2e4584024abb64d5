"""Payloads under lock (X5): what workflows and activities say to each other, sealed before Temporal sees it.

Inputs, results, signals, updates, queries, heartbeats, memos, summaries, headers, error messages and stack
traces pass through here. What is plain is let through, so that encryption can be switched on while workflows
run; what cannot be opened is said to be so, by the name of the key it needs.
"""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta

from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter, DefaultFailureConverter, PayloadCodec, PayloadConverter
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from fascicle.domain.errors import RetryableError
from fascicle.domain.names import ACTIVITY_UNREAD
from fascicle.runtime.payload_keys import PayloadKeys
from fascicle.storage.keyring import DoesNotOpen, KeyMissing

# The names that Temporal's own examples use: other tools know them.
ENCODING = b"binary/encrypted"
KEY_ID = "encryption-key-id"

_PURPOSE = b"fascicle:payload:v1"
# Until an activity that could not be read is offered again, to another worker perhaps.
_OFFERED_AGAIN = timedelta(seconds=10)


class UnreadablePayload(RetryableError):
    """It can be read as soon as its key is back; until then nothing is lost."""

    def __init__(self, message: str) -> None:
        super().__init__("unreadable_payload", message)


class SealingCodec(PayloadCodec):
    def __init__(self, keys: PayloadKeys) -> None:
        self._keys = keys

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        key_id = self._keys.seals_with
        return list(payloads) if key_id is None else [self._sealed(key_id, one) for one in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._opened(one) if is_sealed(one) else one for one in payloads]

    def _sealed(self, key_id: str, payload: Payload) -> Payload:
        sealed = self._keys.ring.seal(key_id, payload.SerializeToString(), purpose=_PURPOSE)
        return Payload(metadata={"encoding": ENCODING, KEY_ID: key_id.encode()}, data=sealed)

    def _opened(self, payload: Payload) -> Payload:
        key_id = key_of(payload)
        try:
            return Payload.FromString(self._keys.ring.open(key_id, payload.data, purpose=_PURPOSE))
        except KeyMissing:
            raise UnreadablePayload(self._without(key_id)) from None
        except (DoesNotOpen, DecodeError):
            raise UnreadablePayload(
                f"A payload cannot be decrypted: the key {key_id!r} of FASCICLE_PAYLOAD_KEYS is not the one "
                "it was encrypted with, or it was changed. Put the right key there: `fascicle payload keys` "
                "shows its fingerprint."
            ) from None

    def _without(self, key_id: str) -> str:
        needs = f"A payload is encrypted with the key {key_id!r}"
        if not self._keys.ring.fingerprints:
            return f"{needs}: set FASCICLE_PAYLOAD_KEYS to the installation's keys."
        return f"{needs}, which is not in FASCICLE_PAYLOAD_KEYS: add it, behind the first one."


class Failures(DefaultFailureConverter):
    """Says in plain words that a payload could not be read: whoever reads that may lack the same key.

    An activity that never began for that reason is to be offered again, also where the SDK says otherwise.
    """

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        unreadable = _unreadable(exception)
        if unreadable is None:
            if _is_benign(exception):  # one for each idle look: where it was raised is no news
                exception = exception.with_traceback(None)
            super().to_failure(exception, payload_converter, failure)
            return
        failure.message = unreadable.message
        failure.application_failure_info.type = ACTIVITY_UNREAD
        failure.application_failure_info.next_retry_delay.FromTimedelta(_OFFERED_AGAIN)


class SealedFailures(Failures):
    """Messages and stack traces go where the codec reaches them."""

    def __init__(self) -> None:
        super().__init__(encode_common_attributes=True)


def data_converter(keys: PayloadKeys) -> DataConverter:
    return dataclasses.replace(
        pydantic_data_converter,
        payload_codec=SealingCodec(keys),
        failure_converter_class=Failures if keys.seals_with is None else SealedFailures,
    )


def _is_benign(exception: BaseException) -> bool:
    return isinstance(exception, ApplicationError) and exception.category is ApplicationErrorCategory.BENIGN


def is_sealed(payload: Payload) -> bool:
    return payload.metadata.get("encoding") == ENCODING


def key_of(payload: Payload) -> str:
    """Anybody may have written it: no longer and no stranger than our own."""
    return payload.metadata.get(KEY_ID, b"").decode("ascii", "replace")[:32]


def _unreadable(exception: BaseException) -> UnreadablePayload | None:
    """Itself, or what the SDK says when an activity's input or progress could not be read: an error without a
    type. An activity that ran and met one elsewhere has its error translated, with a type."""
    if isinstance(exception, ApplicationError) and exception.type is None:
        exception = exception.__cause__ or exception
    return exception if isinstance(exception, UnreadablePayload) else None
