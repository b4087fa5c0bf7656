"""Alembic's entry: migrations run on the connection, and in the transaction, of the caller."""

from __future__ import annotations

from alembic import context

from hushpoll_server.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
