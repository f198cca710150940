#!/usr/bin/env bash
# What does the web UI cost its users? The script uses a real Chromium on a real `dyno serve`, which meanwhile watches a real MariaDB under a
# small load. It measures: the size of the files; the time until a Server page with 12 graphs is painted, for an hour and for a day of seconds;
# the response time to mouse and keys; and the growth of memory and CPU of an open live page. It first writes history through the store's own
# API: recorded scrapes of that server, repeated with increasing counters. For reliable figures, use an otherwise idle machine.
#
#   bench/page.sh                       an hour of an open page, after about ten minutes
#   MINUTES=10 LOADS=5 bench/page.sh
#   PARTS=TestPageOpen bench/page.sh    the open page alone
#
# MINUTES  how long the page stays open (60), 0 for none     LOADS  how often each page is opened (9)
# HOURS    how much history is written first (24)            RECORD seconds of scrapes to record and repeat (120)
# PROGRAM  an existing dyno binary
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
