package unit

import "strconv"

// Plural returns a number with its noun: "1 index", "3 indexes".
func Plural(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return strconv.Itoa(n) + " " + many
}
