"""Notices about a job that a person requested, of any kind."""

from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection


async def answered(connection: AsyncConnection, key: str, round_: int, user_id: str, now: datetime) -> bool:
    """The person received the answer while waiting: discard the message. True: one was pending."""
    await connection.execute(
        text("""update notice set answered_at = :now
                where job_key = :key and round = :round and user_id = :user_id and answered_at is null"""),
        {"key": key, "round": round_, "user_id": user_id, "now": now},
    )
    spared = await connection.execute(
        text("""update delivery d set state = 'discarded' from notice n
                where n.id = d.notice_id and n.job_key = :key and n.round = :round
                  and n.user_id = :user_id and d.job_key = :key and d.state = 'pending'"""),
        {"key": key, "round": round_, "user_id": user_id},
    )
    return spared.rowcount > 0
