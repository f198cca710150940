#!/usr/bin/env bash
# What the page costs who looks at it, in a real Chromium on a real `dyno serve` that watches a real MariaDB under a small load meanwhile:
# the size of its files, how long a Server page with 12 graphs takes until they are painted, for an hour and for a day of seconds, how
# soon it answers the mouse and keys, and how memory and CPU of an open live page grow. What is stored before is written through the
# store's own API: readings of that server, told again and again with counters that go on. For sure figures: a machine where nothing
# else runs.
#
#   bench/page.sh                       an hour of an open page, after about ten minutes
#   MINUTES=10 LOADS=5 bench/page.sh
#   PARTS=TestPageOpen bench/page.sh    the open page alone
#
# MINUTES  how long the page stays open (60), 0 for none     LOADS  how often each page is opened (9)
# HOURS    how much is stored before (24)                    RECORD how many seconds of readings are told again (120)
# PROGRAM  a dyno that is built already
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${PROGRAM:-}" ]; then
	PROGRAM=$dir/dyno
	build/go build -o "$PROGRAM" ./cmd/dyno
fi
export PROGRAM MINUTES="${MINUTES:-60}" LOADS="${LOADS:-9}" HOURS="${HOURS:-24}" RECORD="${RECORD:-120}"
build/go test -tags bench -c -o "$dir/bench" ./bench
cd bench
if [ "$MINUTES" = 0 ]; then parts=TestPage; else parts="TestPage|TestPageOpen"; fi
"$dir/bench" -test.count=1 -test.timeout 8h -test.run "^(${PARTS:-$parts})\$" -test.v | grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'
