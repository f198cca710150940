#!/bin/sh
# CPU that one scrape costs, client and server, beside mysqld_exporter in the same run. The exporter is Debian's package,
# unpacked into a temporary directory: nothing is installed and no service starts. With DYNO_TEST_MYSQL set, MySQL too.
#
#   bench/scrape.sh            windows of 20 s, 3 of each kind, in turn
#   WINDOW=60s ROUNDS=5 bench/scrape.sh
set -eu
cd "$(dirname "$0")/.."
if [ -z "${EXPORTER:-}" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	(cd "$dir" && apt-get -o APT::Sandbox::User=root download -q prometheus-mysqld-exporter >/dev/null && dpkg -x ./*.deb x)
	EXPORTER="$dir/x/usr/bin/prometheus-mysqld-exporter"
fi
export EXPORTER WINDOW="${WINDOW:-20s}" ROUNDS="${ROUNDS:-3}"
go test -tags bench -count=1 -timeout 60m -run '^TestScrapeCost$' -v ./bench | grep -v '^=== \|^--- \|^ok\|^PASS'
