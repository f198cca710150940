// Package bench measures Dyno and compares it with other tools. The scripts of this folder run its tests, which need
// the build tag bench.
package bench
