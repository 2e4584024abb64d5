#!/bin/sh
# Run once by the postgres image, when its volume is empty: a database and a user for Fascicle, two databases
# and a user for Temporal. Neither user can do anything in the other's.
set -eu

psql --no-psqlrc --quiet -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv fascicle POSTGRES_FASCICLE_PASSWORD
\getenv temporal POSTGRES_TEMPORAL_PASSWORD
CREATE ROLE fascicle LOGIN PASSWORD :'fascicle';
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE fascicle OWNER fascicle;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE CONNECT ON DATABASE fascicle, temporal, temporal_visibility FROM PUBLIC;
SQL
