#!/usr/bin/env bash
# How fast `dyno digest` is beside pt-query-digest and mysqldumpslow, and how much memory each takes: interleaved runs on the same logs, each
# program with its full default report and bound to its CPUs. What they count and sum up is compared in the same run. Then Dyno alone: on
# compressed logs beside what merely decompresses them, with many classes, and with files of growing size. Needs percona-toolkit, perl,
# gzip and zstd, and a machine where nothing else runs. mysqldumpslow is taken from PATH or from the MySQL that DYNO_TEST_MYSQL names.
#
#   bench/digest.sh                      3 rounds on 4 logs of 200 MB: about 20 minutes, nearly all of it the peers'
#   DIGEST_ROUNDS=5 bench/digest.sh      surer
#   DIGEST_LOGS=full DIGEST_MB=50 DIGEST_ROUNDS=1 bench/digest.sh     a quick look
#
# DIGEST_ROUNDS  rounds: one run of each peer and DIGEST_REPEAT of Dyno on one CPU and on two (3), 0 for none
# DIGEST_REPEAT  runs of Dyno in a round, whose median counts (5)
# DIGEST_MB      size of a log (200)
# DIGEST_LOGS    expression for the logs to take: "full, 60 classes" and so on (all)
# DIGEST_DIR     where the logs are made, 10 times their size (a new folder in /var/tmp)
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
