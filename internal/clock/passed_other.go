//go:build !linux

package clock

import "time"

// passed returns the time since the program was started. Where the machine's sleep does not count, a resumed machine
// looks like a clock that stepped.
func passed() time.Duration { return time.Since(start) }
