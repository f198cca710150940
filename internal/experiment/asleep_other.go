//go:build !linux

package experiment

import "time"

// asleep cannot be told here.
func asleep() time.Duration { return 0 }
