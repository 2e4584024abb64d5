"""Texts that are longer than a model's window: parts that fit, cut where the text itself pauses (R4)."""

from collections.abc import Iterator

from fascicle.domain.feeds.item_words import sentences

# A token is about four letters of English, or one character of Chinese: three bytes are a safe guess.
_BYTES_PER_TOKEN = 3


def estimated_tokens(text: str) -> int:
    """An estimate that is rather too high than too low."""
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + 1


def beginning(text: str, most_tokens: int) -> str:
    """As much of the text as fits."""
    return text.encode("utf-8", "replace")[: most_tokens * _BYTES_PER_TOKEN].decode("utf-8", "ignore")


def split(text: str, most_tokens: int) -> list[str]:
    """Parts of at most so many tokens: whole paragraphs if possible, else whole sentences, else pieces."""
    if estimated_tokens(text) <= most_tokens:
        return [text]
    parts: list[str] = []
    gathered: list[str] = []
    size = 0
    for piece in _pieces(text, most_tokens):
        cost = estimated_tokens(piece) + 1
        if gathered and size + cost > most_tokens:
            parts.append("\n".join(gathered))
            gathered, size = [], 0
        gathered.append(piece)
        size += cost
    if gathered:
        parts.append("\n".join(gathered))
    return parts


def _pieces(text: str, most_tokens: int) -> Iterator[str]:
    for paragraph in text.splitlines():
        if not paragraph.strip():
            continue
        if estimated_tokens(paragraph) < most_tokens:
            yield paragraph
            continue
        for sentence in sentences(paragraph):
            yield from _chopped(sentence, most_tokens)


def _chopped(sentence: str, most_tokens: int) -> Iterator[str]:
    """A sentence that is longer than a part is cut anywhere: at most four bytes make a character."""
    if estimated_tokens(sentence) < most_tokens:
        yield sentence
        return
    length = max(1, (most_tokens - 2) * _BYTES_PER_TOKEN // 4)
    for start in range(0, len(sentence), length):
        yield sentence[start : start + length]
