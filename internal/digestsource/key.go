package digestsource

import "strings"

// setup reports whether a class is what a connection of Dyno's says first: the driver sets the session in no fixed order.
func setup(fingerprint string) bool {
	return strings.HasPrefix(fingerprint, "set ") && strings.Contains(fingerprint, "lock_wait_timeout") &&
		(strings.Contains(fingerprint, "long_query_time") || strings.Contains(fingerprint, "time_zone"))
}
