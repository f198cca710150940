//go:build !linux

package load

import "github.com/dyno-perf/dyno/internal/target"

// loopWay returns no way: event loops need epoll(7).
func loopWay(*target.Target) []way { return nil }
