//go:build !soak

package clock

import "time"

var start = time.Now()

// system reads the system's clock, and the time that has passed since some moment.
func system() (wall time.Time, since time.Duration) { return time.Now(), passed() }
