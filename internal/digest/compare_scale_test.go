//go:build !race

package digest

// simulations is how often random reports are compared.
const simulations = 150
