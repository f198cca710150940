#!/usr/bin/env bash
# How long does a diagnosis of the past take? `dyno serve` watches a private server whose load has many classes of statements; then the script
# times `dyno diagnose --at` over all of what was stored, with the server and the watcher running and with both ended.
#
#   bench/past.sh                                         MariaDB and MySQL: 12 minutes each
#   SERVERS=mariadb MINUTES=2 CLASSES=100 bench/past.sh   a short run
#
# SERVERS  mariadb, mysql or both     MINUTES  length of the window (10)     CLASSES  of statements (500)     TIMES  it is asked (9)
# PROGRAM  an existing dyno binary
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${PROGRAM:-}" ]; then
	PROGRAM=$dir/dyno
	build/compile "$PROGRAM"
fi
if [ -n "${DYNO_TEST_MYSQL:-}" ]; then SERVERS=${SERVERS:-mariadb mysql}; fi
export PROGRAM SERVERS="${SERVERS:-mariadb}" MINUTES="${MINUTES:-10}" CLASSES="${CLASSES:-500}" TIMES="${TIMES:-9}"
build/go test -tags bench -count=1 -timeout 3h -run '^TestPast$' -v ./bench | grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'
