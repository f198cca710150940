// Package bench holds measurements beside the peers, started by the scripts of this folder: its tests need the tag bench.
package bench
