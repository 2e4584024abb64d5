"""Alembic uses the connection that fascicle.storage.database passes in; it has no URL of its own."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
