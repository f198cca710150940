#!/usr/bin/env bash
# What reading the catalog of a server with very many tables costs it: CPU, tables opened, the longest statement, and for how long others
# wait meanwhile who read busy tables, open idle ones, create, alter and drop. The cache of open tables is full, as it is on such servers.
#
#   bench/catalog.sh                              50 000 tables; making them takes MariaDB some minutes and MySQL some ten
#   TABLES=5000 ROUNDS=3 SERVERS=mariadb bench/catalog.sh
#   URLS='unix:///run/mysqld/mysqld.sock?user=root' bench/catalog.sh    a server of your own on this machine, with databases shop0 to shop4
#
# TABLES   how many there are (50000)       ROUNDS   diagnoses of each kind (5)       PROBE   how long others are watched, each (30s)
# SERVERS  which of mariadb and mysql ("mariadb mysql", or "mariadb" where no MySQL is named)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${DYNO_TEST_MYSQL:-}" ]; then SERVERS=${SERVERS:-mariadb mysql}; fi
export SERVERS="${SERVERS:-mariadb}" TABLES="${TABLES:-50000}" ROUNDS="${ROUNDS:-5}" PROBE="${PROBE:-30s}" URLS="${URLS:-}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
build/go test -tags bench -c -o "$dir/bench" ./bench
cd bench
"$dir/bench" -test.count=1 -test.timeout 3h -test.run '^TestCatalog$' -test.v | grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'
