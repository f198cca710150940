#!/bin/sh
# How reliable is the lab? Prints how often it detects a true loss of 3 %, made by a CPU quota (power), how often it finds a server equal to
# itself (A/A), on real servers, and the cost of restoring 1 GB of data between trials. Run it as root, on an otherwise idle machine; it takes
# an hour when the machine is calm, up to two when it is not.
#
#   bench/lab.sh                      ten repetitions of the first, forty of the second, one of the third
#   POWER=10 AA=0 RESTORE=0           repetitions of each; 0 skips one
#   POWER_TIME=5s AA_TIME=2s          what a trial measures of each variant, at most 20s. Without them an initial noise measurement decides,
#   MINUTES=120                       within about this many minutes in all
#   TURNS=200ms                       length of the variants' time slices. Without it the initial measurement chooses 200ms or 100ms
#   FIRST=1                           the seed of the first repetition
#
# Each line is complete when it is printed. Ctrl-C stops the script and prints the sums so far.
set -eu
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
../build/go test -c -tags bench -o "$dir/lab" doc.go lab_test.go
# This shell must outlive a Ctrl-C to clean up after the program, which ends by itself.
trap : INT TERM
"$dir/lab" -test.count=1 -test.timeout 24h -test.run 'TestLab$'
