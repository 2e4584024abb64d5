"""What is looked for behind an item (I5)."""

import pytest

from fascicle.domain.feeds.item_page import EnrichableItem, Texts, needs_page_text

_ARTICLE = "word " * 400
_TEASER = "What happened in the harbour last night, and why."


@pytest.mark.parametrize(
    ("item", "texts", "needed"),
    [
        ({}, {"summary": _TEASER}, True),
        ({}, {"summary": _TEASER, "content": _ARTICLE}, False),
        ({}, {}, True),
        ({"media_type": "audio/mpeg"}, {"summary": _TEASER}, False),
        ({"duration_seconds": 60}, {"summary": _TEASER}, False),
        ({"media_type": "video/mp4"}, {"summary": "Comments"}, True),
    ],
)
def test_i5_a_pages_text_is_looked_for_where_the_feed_has_too_little(
    item: dict[str, str], texts: dict[str, str], needed: bool
) -> None:
    assert needs_page_text(EnrichableItem.model_validate({"id": 1, **item}), Texts(**texts)) is needed
