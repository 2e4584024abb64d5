"""What the tables are made of."""

from sqlalchemy import BigInteger, Column, DateTime, ForeignKey, Identity, MetaData, func

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def time(name: str, *, required: bool = False, now: bool = False) -> Column[object]:
    return Column(
        name,
        DateTime(timezone=True),
        nullable=not (required or now),
        server_default=func.now() if now else None,
    )


def big_id() -> Column[int]:
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def reference(name: str, target: str) -> Column[object]:
    return Column(name, ForeignKey(target, ondelete="CASCADE"), nullable=False)
