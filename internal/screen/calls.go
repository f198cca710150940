package screen

import (
	"sync"
	"time"
)

// calls counts the calls of the source that are on their way. Unlike a sync.WaitGroup it may be waited for while others
// still begin: these are refused then.
type calls struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when nothing is on its way any more
}

func newCalls() *calls { return &calls{idle: make(chan struct{})} }

// begin reports whether a call may be made; end must follow it.
func (c *calls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.n++
	return true
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.closed && c.n == 0 {
		close(c.idle)
	}
}

// wait lets no further call begin and waits for those that have, but no longer than limit. It is called once.
func (c *calls) wait(limit time.Duration) bool {
	c.mu.Lock()
	c.closed = true
	busy := c.n > 0
	c.mu.Unlock()
	if !busy {
		return true
	}
	select {
	case <-c.idle:
		return true
	case <-time.After(limit):
		return false
	}
}
