#!/usr/bin/env bash
# What does watching cost, compared with mysqld_exporter in the same run? The script measures: CPU of client and server per scrape, by source
# for the status, InnoDB metrics and digests, for the default sources and for all sources; lost throughput at saturation; and 200 targets at
# once. The exporter is Debian's package, unpacked: nothing is installed and no service starts. It needs taskset, two CPUs, and for reliable
# figures an otherwise idle machine.
#
#   bench/observe.sh                                  5 rounds of windows of 20 s: about 12 minutes per server
#   WINDOW=10s ROUNDS=3 SERVERS=mariadb bench/observe.sh
#   PARTS=TestObserveTargets bench/observe.sh         one part alone
#
# WINDOW   length of a window (20s)           ROUNDS   windows of each kind, in a new random order in each round (5)
# SERVERS  mariadb, mysql or both ("mariadb mysql", or "mariadb" when no MySQL is named)
# CPU      the CPU to which server and client are bound while their CPU time is measured, "" for none (1)
# BLOCKS   pairs of throughput blocks with and without watching (12), 0 for none; BLOCK is the length of each (5s)
# TARGETS  recorded streams that are watched at once (200), 0 for none; FOR is how long (60s), after WARM (20s)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${EXPORTER:-}" ]; then
	EXPORTER=$(build/peers)/usr/bin/prometheus-mysqld-exporter
fi
if [ -n "${DYNO_TEST_MYSQL:-}" ]; then SERVERS=${SERVERS:-mariadb mysql}; fi
export EXPORTER WINDOW="${WINDOW:-20s}" ROUNDS="${ROUNDS:-5}" SERVERS="${SERVERS:-mariadb}" BLOCKS="${BLOCKS:-12}" BLOCK="${BLOCK:-5s}" TARGETS="${TARGETS:-200}" FOR="${FOR:-60s}" WARM="${WARM:-20s}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
build/go test -tags bench -c -o "$dir/bench" ./bench
cd bench
quiet() { grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'; }
parts=${PARTS:-TestObserveCost TestObserveThroughput TestObserveTargets}
for part in $parts; do
	bound=()
	if [ "$part" = TestObserveCost ] && [ -n "${CPU-1}" ]; then bound=(taskset -c "${CPU-1}"); fi
	"${bound[@]}" "$dir/bench" -test.count=1 -test.timeout 3h -test.run "^$part\$" -test.v | quiet
done
