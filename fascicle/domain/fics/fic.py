"""Fics: requests, the data from a page, and the states of a job (F1, F2, F9)."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from fascicle.domain.instants import Day


class FicKind(StrEnum):
    WORK = "work"
    SERIES = "series"
    NEEDS_LOOKUP = "needs_lookup"
    """A part of a work; only the site knows which work."""


class JobState(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    COOLDOWN = "cooldown"
    """Pending or processing, while its site's gate is closed."""
    DONE = "done"
    SERIES_DONE = "series-done"
    NOTP = "nOTP"
    """Read, but the rules say it does not belong here."""
    ERROR = "error"


class FicCode(StrEnum):
    """Why a fic could not be read. The codes are never merged (F9)."""

    NOT_FOUND = "not_found"
    LOGIN_REQUIRED = "login_required"
    UNREVEALED = "unrevealed"
    ADULT_GATE = "adult_gate"
    RATE_LIMITED = "rate_limited"
    TRANSIENT = "transient"
    BLOCKED = "blocked"
    CHALLENGE = "challenge"
    PARSER_BROKEN = "parser_broken"


class FicRef(BaseModel):
    """A fic's normal form: the same for all addresses of one fic."""

    model_config = ConfigDict(frozen=True)

    site: str
    kind: FicKind
    id: str
    url: str

    @property
    def key(self) -> str:
        return f"{self.site}-{self.kind}-{self.id}"


class SeriesPart(BaseModel):
    """A work's place in a series."""

    id: str
    title: str
    url: str | None = None
    part: int | None = None


class Fic(BaseModel):
    """A work as its page describes it. Tags are in the page's order; the summary is sanitised HTML."""

    site: str
    id: str
    url: str
    title: str
    authors: list[str] = []
    author_urls: list[str] = []
    fandoms: list[str] = []
    relationships: list[str] = []
    characters: list[str] = []
    tags: list[str] = []
    warnings: list[str] = []
    categories: list[str] = []
    rating: str | None = None
    language: str | None = None
    summary: str | None = None
    words: int | None = None
    chapters: int | None = None
    chapters_total: int | None = None
    """None: not known yet (`14/?`)."""
    complete: bool | None = None
    published_on: Day = None
    updated_on: Day = None
    restricted: bool = False
    change_token: str | None = None
    """Changes whenever the work changes; None: the site has no such token."""
    series: list[SeriesPart] = []


class Blurb(BaseModel):
    """One work of a series' list: the work, or why it could not be read."""

    part: int | None = None
    work_id: str | None = None
    fic: Fic | None = None
    error: str | None = None
    error_code: str | None = None


class SeriesPage(BaseModel):
    """One page of a series' list."""

    site: str
    id: str
    url: str
    title: str
    authors: list[str] = []
    summary: str | None = None
    words: int | None = None
    works_total: int | None = None
    """The number of works that the site shows to a guest, without those hidden from guests."""
    complete: bool | None = None
    page: int = 1
    pages: int = 1
    works: list[Blurb] = []


class Verdict(BaseModel):
    """The rules' verdict on a work (F6). `reasons` are sentences for the person who submitted it."""

    ok: bool = True
    reasons: list[str] = []
    rule: str | None = None


class WorkResult(BaseModel):
    """One work of a series' job."""

    part: int | None = None
    id: str | None = None
    title: str | None = None
    url: str | None = None
    state: JobState
    reasons: list[str] = []
    error_code: str | None = None


class FicView(BaseModel):
    """A job as people see it."""

    key: str
    workflow_id: str
    url: str
    site: str
    kind: FicKind
    state: JobState
    round: int = 1
    title: str | None = None
    fic: Fic | None = None
    requested_by: str | None = None
    subscribers: int = 0
    position: int | None = None
    """1: next at its site. None: it is not waiting."""
    eta_seconds: float | None = None
    waiting_for: str | None = None
    error_code: str | None = None
    error: str | None = None
    reasons: list[str] = []
    override_by: str | None = None
    works: list[WorkResult] = []
    hidden_works: int = 0

    @property
    def finished(self) -> bool:
        return self.state in FINISHED


FINISHED = frozenset({JobState.DONE, JobState.SERIES_DONE, JobState.NOTP, JobState.ERROR})


class Subscription(BaseModel):
    """A user's request for a fic."""

    user: str
    note: str | None = None
    tags: list[str] = []
    refresh: bool = False
    """Read it again although it was read before."""
    waits_seconds: float = 0
    """How long the caller waits for the result."""
