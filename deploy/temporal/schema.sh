#!/bin/sh
# Brings both of Temporal's databases to the schema of this version of admin-tools. Repeatable: it runs before
# every start of the server. Host, user and password come from SQL_HOST, SQL_USER and SQL_PASSWORD.
set -eu

schema=/etc/temporal/schema/postgresql/v12

bring_up() {
  temporal-sql-tool --plugin postgres12 --db "$1" setup-schema -v 0.0
  temporal-sql-tool --plugin postgres12 --db "$1" update-schema -d "$schema/$2/versioned"
}

bring_up temporal temporal
bring_up temporal_visibility visibility
