#!/bin/sh
# Makes the two databases of Temporal, or brings their schemas up to date. It may
# run again at every start. The password is in SQL_PASSWORD.
set -eu
for db in temporal temporal_visibility; do
  kind=${db#temporal_}
  tool() {
    temporal-sql-tool --plugin postgres12 --endpoint postgres --port 5432 --user "$POSTGRES_USER" --database "$db" "$@"
  }
  # Both fail on a database that is there already; what follows tells whether it is right.
  tool create-database || true
  tool setup-schema --version 0.0 || true
  tool update-schema --schema-dir "/etc/temporal/schema/postgresql/v12/$kind/versioned"
done
