"""Text that a person typed or a program passed."""

from fascicle.domain.errors import UsageError


def check_is_text(given: str) -> None:
    """Refuse text that the terminal could not decode, or that PostgreSQL cannot store."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise UsageError("wrong_usage", "That is not valid UTF-8 text.") from None
    if "\0" in given:
        raise UsageError("wrong_usage", "Names have no zero bytes.")
