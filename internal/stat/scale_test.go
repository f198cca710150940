//go:build !race

package stat

// scale is by how much simulations are cut.
const scale = 1
