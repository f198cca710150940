//go:build !linux

package load

import "dyno/internal/target"

// loopWay returns no way: event loops need epoll(7).
func loopWay(*target.Target) []way { return nil }
