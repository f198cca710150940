#!/usr/bin/env bash
# Are proofs on live traffic calibrated? On a private server under load an index is hidden and shown. The script compares the interval of
# each live proof with the ratio that interleaved windows give (the truth), and counts how often a change that does nothing is called better
# or worse. Windows are counted, stored and read as by `dyno proof`, only shorter. It prints a table for each server.
#
#   bench/proof.sh                                     both servers: about 40 minutes; less with NOTHING=20
#   SERVERS=mariadb PROOFS=3 NOTHING=6 bench/proof.sh  a short run
#
# SERVERS  mariadb, mysql or both          WINDOW   length of a window (1s)        WINDOWS  windows of each side (12)
# PROOFS   proofs of the index (10)        NOTHING  proofs of a change that does nothing (40)
# PAIRS    interleaved pairs of windows for the truth (20)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${DYNO_TEST_MYSQL:-}" ]; then SERVERS=${SERVERS:-mariadb mysql}; fi
export SERVERS="${SERVERS:-mariadb}" WINDOW="${WINDOW:-1s}" WINDOWS="${WINDOWS:-12}" PROOFS="${PROOFS:-10}" NOTHING="${NOTHING:-40}" PAIRS="${PAIRS:-20}"
build/go test -tags bench -count=1 -timeout 3h -run '^TestProof$' -v ./bench | grep --line-buffered -v '^=== \|^ *--- \|^ok\|^PASS'
