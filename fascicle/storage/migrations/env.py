"""Alembic runs on the connection handed over by fascicle.storage.database: no URL of its own."""

from alembic import context

from fascicle.storage.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
