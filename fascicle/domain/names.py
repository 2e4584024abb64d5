"""Names that cross a boundary: task queues, signals, search attributes, workflow ids."""

import hashlib
import secrets

MAIN_QUEUE = "fascicle"
FETCH_QUEUE = "fetch"
DELIVER_QUEUE = "deliver"
PUBLISH_QUEUE = "publish"
TASK_QUEUES = (MAIN_QUEUE, FETCH_QUEUE, DELIVER_QUEUE, PUBLISH_QUEUE)

DIGEST_SCHEDULE = "digests"
HOUSEKEEPING_SCHEDULE = "housekeeping"
RECONCILE_SCHEDULE = "reconcile"
AUTOMATION_SCHEDULE = "automations"
TOKEN_SCHEDULE = "token-maintenance"  # noqa: S105 - a name
CLEANUP_SCHEDULE = "storage-cleanup"
SCHEDULES = (
    RECONCILE_SCHEDULE,
    DIGEST_SCHEDULE,
    AUTOMATION_SCHEDULE,
    TOKEN_SCHEDULE,
    CLEANUP_SCHEDULE,
    HOUSEKEEPING_SCHEDULE,
)

# The site of a source that is a feed: its instalments are items, not chapters.
FEED_SITE = "feed"

# One workflow for all mail: the mail that is owed is in the database.
MAIL_WORKFLOW_ID = "mail"

# The sweep's signal to a source: something is new; look within so many seconds.
WAKE_SIGNAL = "wake"
# To the workflow of a post, a fic or a request: its row or its turn may have changed.
LOOK_AGAIN_SIGNAL = "look_again"

# The failure of an activity whose input could not be read: it never began.
ACTIVITY_UNREAD = "activity_unread"

# The benign failure of a look that found nothing: Temporal tries again at the time of the next look.
NOTHING_NEW = "nothing_new"

# Changes of workflows that old histories do not know (docs/upgrading.md).
PATIENT_WAITS = "patient-waits"
WATCHED_SOURCES = "watched-sources"
PAUSE_ENDS_POLL = "pause-ends-poll"
STORED_AND_TOLD = "stored-and-told"
# The number of this code. Each run knows the number of the code that started it. If that is at least the
# number of a patch below, the run has had the patch from its start and needs no marker for it.
CODE = 1
BORN_PATCHED = dict.fromkeys((PATIENT_WAITS, WATCHED_SOURCES, PAUSE_ENDS_POLL, STORED_AND_TOLD), 1)

# Keyword attributes of the Web UI's list view. Temporal gives a namespace ten keyword slots.
SEARCH_ATTRIBUTES = ("Site", "Cadence", "Circuit", "SourceId", "SeriesId", "UserId", "CorrelationId")

# No vowels and no look-alikes: people read ids aloud and type them, and ids must not spell words.
_ID_ALPHABET = "23456789bcdfghjkmnpqrstvwxz"


def new_id() -> str:
    """A short random id. Random, so that a rebuilt database never meets old workflow ids again."""
    return "".join(secrets.choice(_ID_ALPHABET) for _ in range(12))


def source_workflow_id(source_id: str) -> str:
    return f"source-{source_id}"


def sweep_workflow_id(site: str) -> str:
    return f"sweep-{site}"


def ingest_workflow_id(source_id: str, chapter_key: str) -> str:
    return f"ingest-{source_id}-{chapter_key}"


def notify_workflow_id(series_id: str, chapter_id: int) -> str:
    return f"notify-{series_id}-{chapter_id}"


def publish_workflow_id(post_id: str) -> str:
    return f"publish-{post_id}"


def fic_workflow_id(key: str) -> str:
    """`fic-{site}-{kind}-{id}` (F1)."""
    return f"fic-{key}"


def item_workflow_id(source_id: str, item_key: str) -> str:
    """Short, even if the feed's own ids are long."""
    return f"item-{source_id}-{hashlib.sha256(item_key.encode()).hexdigest()[:16]}"


def enrich_workflow_id(item_id: int) -> str:
    return f"enrich-{item_id}"


def request_workflow_id(request_id: str) -> str:
    """The workflow id is the lock (R1), and also the key of the request's notices and deliveries."""
    return f"request-{request_id}"


def ingest_job_key(source_id: str, chapter_key: str) -> str:
    """The dedup key of C4."""
    return f"{source_id}:{chapter_key}"
