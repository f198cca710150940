//go:build !linux

package load

// loopWay returns no way: event loops need epoll(7).
func loopWay(Sessions) []way { return nil }
