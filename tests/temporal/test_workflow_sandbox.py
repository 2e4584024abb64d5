"""What the sandbox that asks for no contexts relies on."""

import pytest
from temporalio.converter import WithSerializationContext

from fascicle.settings.payload_keys import NO_KEYS, PayloadKeys
from fascicle.temporal.payload_codec import data_converter
from tests.payloads import keys


@pytest.mark.parametrize("with_keys", [NO_KEYS, keys("old")], ids=["plain", "sealed"])
def test_what_seals_payloads_takes_no_context_and_stores_none_elsewhere(with_keys: PayloadKeys) -> None:
    converter = data_converter(with_keys)
    assert not isinstance(converter.payload_codec, WithSerializationContext)
    assert converter.external_storage is None
