"""PostgreSQL: tables, migrations and set-based queries. One module per capability."""
