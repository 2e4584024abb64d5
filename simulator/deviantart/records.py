"""Records of the simulated DeviantArt: accounts, tokens, Sta.sh items, deviations, and requests."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

DEFAULT_SCOPE = "basic browse publish stash user"
DAY = 24 * 3600.0

FormValues = dict[str, list[str]]


class Options(BaseModel):
    """How this DeviantArt behaves; times in seconds.

    `gallery_delay` is the time until the gallery shows a new deviation. With `forgets_published`, publishing
    an item again is answered as if the item were unknown (7) instead of already published (9).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    client_id: str = "12345"
    client_secret: str = "simulated-secret"  # noqa: S105 - a stand-in's, known to everybody
    access_seconds: Annotated[float, Field(gt=0)] = 3600.0
    refresh_seconds: Annotated[float, Field(gt=0)] = 90 * DAY
    gallery_delay: Annotated[float, Field(ge=0)] = 0.0
    forgets_published: bool = False
    default_account: str = "artist"


class AccountLimit(BaseModel):
    """The first `refuse` API requests (-1: all) get 429; later ones get it only above the rate.

    As on the real site, the answer says when to retry only if `retry_after` is set.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    refuse: Annotated[int, Field(ge=-1)] = 0
    requests_per_second: Annotated[float, Field(gt=0)] | None = None
    retry_after: Annotated[int, Field(ge=0)] | None = None


class Account(BaseModel):
    name: str
    userid: str
    auto_approve: bool = False


class TokenPair(BaseModel):
    """The tokens that /oauth2/token issues, and their account."""

    account: str
    userid: str
    access_token: str
    refresh_token: str
    expires_in: int
    scope: str


class Authorization(BaseModel):
    """A code that was not exchanged yet."""

    account: str
    redirect_uri: str
    scope: str
    challenge: str
    expires_at: float


class Token(BaseModel):
    """An access or a refresh token; both kinds are invalid from `expires_at` on."""

    account: str
    scope: str
    # The approval that the token comes from: revoking one token revokes all tokens of its approval.
    grant: int
    expires_at: float


class StashItem(BaseModel):
    item_id: int
    account: str
    title: str
    tags: list[str]
    size: int
    sha256: str
    file_name: str
    fields: FormValues
    submits: int = 1
    deviation_id: str | None = None


class Submission(BaseModel):
    """A submit that took effect; the item's content may have been overwritten by a later one."""

    item_id: int
    account: str
    title: str
    at: float
    size: int
    sha256: str
    file_name: str
    fields: FormValues
    overwrites: bool


class Deviation(BaseModel):
    """`item_id` is None if the artist posted it by hand; `options` is the publish form."""

    deviation_id: str
    item_id: int | None
    account: str
    title: str
    url: str
    at: float
    size: int = 0
    sha256: str = ""
    tags: list[str] = []
    is_mature: bool = False
    options: FormValues = {}
    submission: FormValues = {}


class Refresh(BaseModel):
    """An attempt to use a refresh token; `generation` counts an account's successful ones."""

    account: str | None
    at: float
    succeeded: bool
    generation: int


class Saved(BaseModel):
    """The content of the state file."""

    version: int = 1
    options: Options = Options()
    accounts: dict[str, Account] = {}
    authorizations: dict[str, Authorization] = {}
    access_tokens: dict[str, Token] = {}
    refresh_tokens: dict[str, Token] = {}
    # Used or revoked refresh tokens with their accounts, so that the log can name the account.
    spent_tokens: dict[str, str] = {}
    items: dict[int, StashItem] = {}
    deviations: list[Deviation] = []
    submissions: list[Submission] = []
    refreshes: list[Refresh] = []
    last_number: int = 0
