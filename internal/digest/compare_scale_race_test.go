//go:build race

package digest

// simulations is few: nothing runs beside them.
const simulations = 15
