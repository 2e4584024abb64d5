"""The table of the keys that payloads are encrypted with (X5); the keys themselves are not in it."""

from sqlalchemy import Column, Table, Text

from fascicle.storage.table_parts import metadata, time

payload_key = Table(
    "payload_key",
    metadata,
    Column("id", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    time("first_used_at", now=True),
)
