//go:build soak

package clock

import (
	"os"
	"strings"
	"time"
)

var start = time.Now()

// system is that of a build for bench/soak.sh alone, whose clock is off by the duration in the file that
// DYNO_SOAK_CLOCK names: the system's own clock cannot be set for one process.
func system() (wall time.Time, since time.Duration) {
	b, _ := os.ReadFile(os.Getenv("DYNO_SOAK_CLOCK"))
	off, _ := time.ParseDuration(strings.TrimSpace(string(b)))
	wall = time.Now()
	if off != 0 {
		wall = wall.Round(0).Add(off)
	}
	return wall, passed()
}
