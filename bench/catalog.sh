#!/usr/bin/env bash
# What does reading the catalog cost a server with very many tables? The script measures CPU, opened tables, the longest statement, and how
# long other sessions wait meanwhile that read busy tables, open idle ones, create, alter and drop. The table cache is full, as on such servers.
#
#   bench/catalog.sh                              50 000 tables; MariaDB takes a few minutes to create them, MySQL about ten
#   TABLES=5000 ROUNDS=3 SERVERS=mariadb bench/catalog.sh
#   URLS='unix:///run/mysqld/mysqld.sock?user=root' bench/catalog.sh    your own server on this machine, with databases shop0 to shop4
#
# TABLES   number of tables (50000)         ROUNDS   diagnoses of each kind (5)       PROBE   how long other sessions are observed, each (30s)
# SERVERS  mariadb, mysql or both ("mariadb mysql", or "mariadb" when no MySQL is named)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${DYNO_TEST_MYSQL:-}" ]; then SERVERS=${SERVERS:-mariadb mysql}; fi
export SERVERS="${SERVERS:-mariadb}" TABLES="${TABLES:-50000}" ROUNDS="${ROUNDS:-5}" PROBE="${PROBE:-30s}" URLS="${URLS:-}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
build/go test -tags bench -c -o "$dir/bench" ./bench
cd bench
"$dir/bench" -test.count=1 -test.timeout 3h -test.run '^TestCatalog$' -test.v | grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'
