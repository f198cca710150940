//go:build race

package stat

// scale is by how much simulations are cut: the race detector makes them ten times slower, and there is nothing to
// race.
const scale = 10
