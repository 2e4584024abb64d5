"""The output of `db restore` and `db restored`: the doubtful work, and what a person can do about it."""

from fascicle.storage.operations.restored import Doubts

_MOST_NAMED = 20


def in_words(doubts: Doubts, *, silent: bool, is_embedded: bool) -> list[str]:
    """One line per fact; the last line names the next step."""
    return [*_stopped(doubts), *_goes_on(doubts, silent=silent), _next(is_embedded=is_embedded)]


def _stopped(doubts: Doubts) -> list[str]:
    lines = []
    if doubts.posts:
        lines.append(
            f"{_many(len(doubts.posts), 'post')} may have been published since the backup; none goes out by "
            "itself. Look at the gallery, then, for each: fascicle post resolve ID --published URL | --retry"
        )
        lines += [
            f"  {post['id']}  {post['title']} ({post['account']})" for post in doubts.posts[:_MOST_NAMED]
        ]
    if doubts.messages:
        lines.append(
            f"{_many(doubts.messages, 'message')} may have been sent since: fascicle dead-letters list "
            "--kind deliver, then replay (sends them) or discard"
        )
    if doubts.mails:
        lines.append(f"{_many(doubts.mails, 'mail')} may have been sent since: not to be sent again")
    if doubts.automations:
        lines.append(
            f"disabled: {_many(len(doubts.automations), 'automation')}, for drafts published since look like "
            "drafts again. Put those away, then: fascicle automation enable NAME"
        )
        lines += [f"  {rule['account']}/{rule['name']}" for rule in doubts.automations[:_MOST_NAMED]]
    if doubts.sales:
        lines.append(
            f"{_many(doubts.sales, 'sale')} may have been done since: fascicle sale list --state failed, "
            "then fascicle sale retry ID for those that were not"
        )
    return lines


def _goes_on(doubts: Doubts, *, silent: bool) -> list[str]:
    lines = []
    if silent:
        lines.append(
            f"{_many(doubts.sources_read_anew, 'source')} to be read anew: chapters that came out until now "
            "are stored and told to nobody"
        )
    else:
        lines.append(
            "chapters that came out since the backup are told, to some for the second time "
            "(fascicle db restored --silent before the start: to nobody)"
        )
    if doubts.posts_to_come:
        lines.append(
            f"{_many(doubts.posts_to_come, 'post')} still to come; if one was published early since the "
            "backup, it would go out again: fascicle post list --state scheduled"
        )
    if doubts.requests_under_way or doubts.fics_under_way:
        lines.append(
            f"{_many(doubts.requests_under_way, 'request')} and {_many(doubts.fics_under_way, 'fic')} under "
            "way: they are done again, a model may be paid again, and who asked may be told again"
        )
    if doubts.accounts:
        lines.append(
            f"tokens of {', '.join(doubts.accounts[:_MOST_NAMED])} may have been renewed since: where the "
            "site refuses the older ones, the account pauses until fascicle account connect"
        )
    return lines


def _next(*, is_embedded: bool) -> str:
    return "next: fascicle up" if is_embedded else "next: start the workers, then fascicle reconcile"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
