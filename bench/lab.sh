#!/bin/sh
# How sure is the lab? Prints how often it sees a true loss of 3 %, made by a CPU quota (power), and how often it finds a server the same
# as itself (A/A), on real servers; then what it takes to put 1 GB of data back between trials. Run it as root, on a machine where nothing
# else runs; an hour when the machine is calm, up to two when it is not.
#
#   bench/lab.sh                      ten repetitions of the first, forty of the second, one of the third
#   POWER=10 AA=0 RESTORE=0           repetitions of each; 0 leaves one out
#   POWER_TIME=5s AA_TIME=2s          what a trial measures of each variant, 20s at most. Without them a first look at the noise decides,
#   MINUTES=120                       within about so many minutes in all
#   TURNS=200ms                       the turns that the variants take. Without it the first look decides for 200ms or 100ms
#   FIRST=1                           the seed of the first repetition
#
# Each line is complete when it is printed. Ctrl-C ends it with the sums so far.
set -eu
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
../build/go test -c -tags bench -o "$dir/lab" doc.go lab_test.go
# This shell must outlive a Ctrl-C to clean up after the program, which ends by itself.
trap : INT TERM
"$dir/lab" -test.count=1 -test.timeout 24h -test.run 'TestLab$'
