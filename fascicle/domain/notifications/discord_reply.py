"""A pending answer on Discord."""

from datetime import datetime

from pydantic import BaseModel, SecretStr


class Reply(BaseModel):
    """The place for the answer, until Discord no longer accepts it."""

    application_id: str
    token: SecretStr
    channel_id: str | None = None
    discord_user_id: str
    received_at: datetime
