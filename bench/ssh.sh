#!/usr/bin/env bash
# What does reading a server's machine through ssh take? A private MySQL behind an SSH server of this machine is watched each second by an
# account without rights. The script prints bytes and CPU of both sides, each second. It needs root.
#
#   bench/ssh.sh             one minute
#   TIME=20s bench/ssh.sh    a short run
set -euo pipefail
cd "$(dirname "$0")/.."
DYNO_TEST_MYSQL=${DYNO_TEST_MYSQL:-$(build/mysql)}
DYNO_TEST_SSHD=${DYNO_TEST_SSHD:-$(build/sshd)}
export DYNO_TEST_MYSQL DYNO_TEST_SSHD
build/go test -tags bench -count=1 -timeout 1h -run '^TestHostBySSH$' -v ./bench | grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'
