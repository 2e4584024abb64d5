"""Payloads under lock (X5): what is sealed, what is let through, and what is said of what cannot be read."""

import asyncio
import base64

import pytest
from sqlalchemy import text
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.names import ACTIVITY_UNREAD
from fascicle.settings.payload_keys import NO_KEYS, parse_payload_keys
from fascicle.settings.settings import load_settings
from fascicle.storage.database import open_engine, transaction
from fascicle.temporal.key_agreement import agree_on_keys
from fascicle.temporal.payload_codec import SealingCodec, UnreadablePayload, data_converter, key_of
from tests.payloads import OLD, keys, line

SECRET = "nobody may read this"


def plain(data: str = SECRET) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=data.encode())


async def sealed(with_keys: str, data: str = SECRET) -> Payload:
    (payload,) = await SealingCodec(parse_payload_keys(with_keys)).encode([plain(data)])
    return payload


async def refusal(with_keys: str | None, payload: Payload) -> str:
    codec = SealingCodec(NO_KEYS if with_keys is None else parse_payload_keys(with_keys))
    with pytest.raises(UnreadablePayload) as refused:
        await codec.decode([plain(), payload])
    assert SECRET not in refused.value.message
    assert "FASCICLE_PAYLOAD_KEYS" in refused.value.message
    return refused.value.message


@pytest.mark.parametrize("data", [SECRET, "", "ü" * 100_000])
async def test_x5_what_was_sealed_comes_back_and_never_reads_the_same_twice(data: str) -> None:
    one, other = await sealed(OLD, data), await sealed(OLD, data)
    assert key_of(one) == "old"
    assert one.data != other.data
    assert data.encode() not in one.SerializeToString() or not data
    assert b"json/plain" not in one.SerializeToString()
    assert await SealingCodec(keys("old")).decode([one, other]) == [plain(data), plain(data)]


async def test_x5_the_first_key_seals_the_others_still_open_and_plain_is_let_through() -> None:
    before = await sealed(OLD)
    rotated = SealingCodec(keys("new", "old"))
    (after,) = await rotated.encode([plain()])
    assert key_of(after) == "new"
    assert await rotated.decode([before, plain("old and plain"), after]) == [
        plain(),
        plain("old and plain"),
        plain(),
    ]
    assert await rotated.decode([]) == await rotated.encode([]) == []


async def test_x5_plain_in_the_first_place_only_opens() -> None:
    codec = SealingCodec(parse_payload_keys(f"plain, {OLD}"))
    assert await codec.encode([plain()]) == [plain()]
    assert await codec.decode([await sealed(OLD)]) == [plain()]


async def test_x5_what_cannot_be_opened_says_which_key_it_needs() -> None:
    given = await sealed(OLD)
    assert "key 'old': set" in await refusal(None, given)
    assert "key 'old', which is not in" in await refusal(line("new", 2), given)
    assert "is not the one" in await refusal(line("old", 9), given)


@pytest.mark.parametrize("data", [b"", b"short", b"x" * 100])
async def test_x5_a_changed_payload_is_refused(data: bytes) -> None:
    given = await sealed(OLD)
    given.data = data
    assert "was changed" in await refusal(OLD, given)


async def test_x5_a_strangers_key_id_is_shown_no_longer_and_no_stranger_than_ours() -> None:
    given = await sealed(OLD)
    given.metadata["encryption-key-id"] = b"\x1b[31m\xff" + b"y" * 500
    said = await refusal(OLD, given)
    assert "\x1b" not in said
    assert len(said) < 250


@pytest.mark.parametrize(("with_keys", "reaches"), [(OLD, False), (f"plain,{OLD}", True)])
async def test_x5_messages_and_stack_traces_are_sealed_too(with_keys: str, reaches: bool) -> None:
    converter = data_converter(parse_payload_keys(with_keys))
    failure = Failure()
    try:
        raise ApplicationError(SECRET, SECRET, type="kind") from ValueError(SECRET)
    except ApplicationError as error:
        await converter.encode_failure(error, failure)
    assert (SECRET.encode() in failure.SerializeToString()) == reaches
    assert (b"test_payload_codec" in failure.SerializeToString()) == reaches
    assert failure.application_failure_info.type == "kind"
    assert str(await converter.decode_failure(failure)) == f"kind: {SECRET}"


async def test_x5_an_activity_that_could_not_be_read_is_offered_again_and_says_so_in_plain() -> None:
    """As the SDK tells of it: for a heartbeat's details it would be given up at once."""
    failure = Failure()
    error = ApplicationError("Failed decoding heartbeat details", non_retryable=True)
    error.__cause__ = UnreadablePayload("the key 'old'")
    await data_converter(keys("new")).encode_failure(error, failure)
    assert failure.message == "the key 'old'"
    assert failure.application_failure_info.type == ACTIVITY_UNREAD
    assert not failure.application_failure_info.non_retryable
    assert failure.application_failure_info.next_retry_delay.seconds > 0
    # One that ran, and met such a payload on its way, has a type of its own.
    ran = Failure()
    met = ApplicationError("x", type="unreadable_payload")
    met.__cause__ = error.__cause__
    await data_converter(keys("new")).encode_failure(met, ran)
    assert ran.application_failure_info.type == "unreadable_payload"


async def test_x5_what_others_read_is_what_they_read_before() -> None:
    """Without keys nothing changes for a client that knows of no codec."""
    (payload,) = await data_converter(NO_KEYS).encode([{"a": 1}])
    assert await pydantic_data_converter.decode([payload]) == [{"a": 1}]


@pytest.mark.parametrize(
    "given",
    ["justtext", "plain", "plain,,", f"{OLD},{OLD}", f"{OLD},plain", "k:" + base64.b64encode(b"x").decode()],
)
def test_o8_malformed_keys_are_named_without_being_shown(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("FASCICLE_PAYLOAD_KEYS", given)
    with pytest.raises(UsageError) as wrong:
        load_settings()
    assert "FASCICLE_PAYLOAD_KEYS" in wrong.value.message
    assert OLD.partition(":")[2] not in wrong.value.message


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FASCICLE_CODEC_TOKEN", "too-short"),
        ("FASCICLE_CODEC_TOKEN", "not one word of sixteen"),
        ("FASCICLE_CODEC_ORIGINS", "*"),
        ("FASCICLE_CODEC_ORIGINS", "https://ui.example.com/path"),
    ],
)
def test_o8_a_careless_codec_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=variable) as wrong:
        load_settings()
    assert value not in wrong.value.message or value == "*"


async def test_x5_a_process_without_the_keys_in_use_is_refused(database_url: str) -> None:
    engine = open_engine(database_url)

    async def said(with_keys: str | None) -> str:
        with pytest.raises(PermanentError) as refused:
            await agree_on_keys(engine, NO_KEYS if with_keys is None else parse_payload_keys(with_keys))
        return refused.value.message

    await agree_on_keys(engine, NO_KEYS)
    # Behind the first one, or behind `plain`, a key is in no use yet.
    await agree_on_keys(engine, parse_payload_keys(f"plain,{OLD}"))
    await agree_on_keys(engine, NO_KEYS)
    # Whoever only talks to workers follows them.
    with pytest.raises(PermanentError, match="No worker encrypts with the key 'old' yet"):
        await agree_on_keys(engine, keys("old"), may_begin=False)
    await agree_on_keys(engine, keys("old"))
    await agree_on_keys(engine, keys("old"), may_begin=False)
    await agree_on_keys(engine, keys("new", "old"))
    await agree_on_keys(engine, keys("old", "new"))
    assert "set FASCICLE_PAYLOAD_KEYS" in await said(None)
    assert "'new' (fingerprint" in await said(OLD)
    assert "fascicle payload forget old" in await said(line("new", 2))
    assert "is another (fingerprint" in await said(f"{line('new', 2)},{line('old', 9)}")
    async with transaction(engine) as connection:
        stored = str((await connection.execute(text("select * from payload_key"))).all())
    assert base64.b64encode(bytes([1]) * 32).decode() not in stored
    assert (bytes([1]) * 32).hex() not in stored
    await engine.dispose()


async def test_x5_of_two_that_begin_at_once_with_different_keys_one_is_refused(database_url: str) -> None:
    engine = open_engine(database_url)
    said = await asyncio.gather(
        *(agree_on_keys(engine, keys(name)) for name in ("old", "new")), return_exceptions=True
    )
    assert sorted(isinstance(one, PermanentError) for one in said) == [False, True]
    await engine.dispose()
