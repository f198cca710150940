#!/usr/bin/env bash
# How fast is `dyno digest` compared with pt-query-digest and mysqldumpslow, and how much memory does each take? The script runs them in turn
# on the same logs, each with its full default report and bound to its CPUs, and compares their counts and sums in the same run. Then it runs
# Dyno alone: on compressed logs next to tools that only decompress them, with many classes, and with files of growing size. It needs
# percona-toolkit, perl, gzip and zstd, and an otherwise idle machine. It takes mysqldumpslow from PATH or from the MySQL in DYNO_TEST_MYSQL.
#
#   bench/digest.sh                      3 rounds on 4 logs of 200 MB: about 20 minutes, nearly all of it for the other tools
#   DIGEST_ROUNDS=5 bench/digest.sh      more precise
#   DIGEST_LOGS=full DIGEST_MB=50 DIGEST_ROUNDS=1 bench/digest.sh     a quick run
#
# DIGEST_ROUNDS  rounds: one run of each other tool and DIGEST_REPEAT of Dyno on one CPU and on two (3), 0 for none
# DIGEST_REPEAT  runs of Dyno in a round, whose median counts (5)
# DIGEST_MB      size of a log (200)
# DIGEST_LOGS    regular expression for the logs to use: "full, 60 classes" and so on (all)
# DIGEST_DIR     where the logs are created, 10 times their size (a new directory in /var/tmp)
set -euo pipefail
cd "$(dirname "$0")/.."
for need in pt-query-digest perl gzip zstd; do
	command -v $need >/dev/null || { echo "bench/digest.sh needs $need" >&2; exit 1; }
done
if [ -z "${DYNO:-}" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	build/compile "$dir/dyno"
	DYNO=$dir/dyno
fi
DYNO=$(realpath "$DYNO")
export DYNO
build/go test -tags bench -count=1 -timeout 12h -run '^TestDigest$' -v ./bench | grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'
