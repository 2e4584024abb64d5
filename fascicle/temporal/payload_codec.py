"""Encryption of payloads (X5): the data of workflows and activities is sealed before Temporal sees it.

Inputs, results, signals, updates, queries, heartbeats, memos, summaries, headers, error messages and stack
traces pass through here. Plain payloads are accepted, so that encryption can be switched on while workflows
run; the error for a payload that cannot be opened names the key it needs.
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
from fascicle.settings.payload_keys import PayloadKeys
from fascicle.storage.operations.keyring import DoesNotOpen, KeyMissing

# The names in Temporal's own examples, which other tools know.
ENCODING = b"binary/encrypted"
KEY_ID = "encryption-key-id"

_PURPOSE = b"fascicle:payload:v1"
# The wait before an activity that could not be read is offered again, perhaps to another worker.
_OFFERED_AGAIN = timedelta(seconds=10)


class UnreadablePayload(RetryableError):
    """The payload can be read as soon as its key is back; nothing is lost until then."""

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
    """The error of an unreadable payload stays unencrypted, because its readers may lack the same key.

    An activity that never began for that reason is offered again, even if the SDK would not retry it.
    """

    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        unreadable = _unreadable(exception)
        if unreadable is None:
            if _is_benign(exception):  # one for each idle look: its traceback is of no interest
                exception = exception.with_traceback(None)
            super().to_failure(exception, payload_converter, failure)
            return
        failure.message = unreadable.message
        failure.application_failure_info.type = ACTIVITY_UNREAD
        failure.application_failure_info.next_retry_delay.FromTimedelta(_OFFERED_AGAIN)


class SealedFailures(Failures):
    """Messages and stack traces are put where the codec encrypts them."""

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
    """The key's id. Anybody may have written it, so it is reduced to ASCII and cut to a length."""
    return payload.metadata.get(KEY_ID, b"").decode("ascii", "replace")[:32]


def _unreadable(exception: BaseException) -> UnreadablePayload | None:
    """The exception itself, or the cause of the SDK's error for an activity's unreadable input or progress;
    that error has no type. An activity that ran and met such an error elsewhere raises one with a type."""
    if isinstance(exception, ApplicationError) and exception.type is None:
        exception = exception.__cause__ or exception
    return exception if isinstance(exception, UnreadablePayload) else None
