package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
)

// Answers that are made at the same time: some take a second of a CPU and tens of MB, and this is often the machine of
// a database.
const (
	atOnce      = 16
	ofOneAtOnce = 4

	// requests of one caller that wait for their turn; a page of many graphs sends some dozen at a time
	waitingOfOne = 96

	// of those that run at a time, see series.Limits.Concurrent; queries take no other turn while they wait for theirs
	queriesOfOneAtOnce = 2
)

// turns bounds how many answers are made at once, for one caller and in all. The rest wait for as long as their
// requests have.
type turns struct {
	ofOne int // for one caller; 0 is ofOneAtOnce

	mu      sync.Mutex
	all     chan struct{}
	by      map[string]chan struct{} // by caller.key: users and tokens, which are few
	waiting crowd                    // by the same
}

// crowd counts who is there. The zero value is ready.
type crowd struct {
	mu sync.Mutex
	by map[string]int
}

// enter counts one more, unless there are most already.
func (x *crowd) enter(key string, most int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.by[key] >= most {
		return false
	}
	if x.by == nil {
		x.by = map[string]int{}
	}
	x.by[key]++
	return true
}

func (x *crowd) leave(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.by[key]--; x.by[key] <= 0 {
		delete(x.by, key)
	}
}

func (x *turns) of(key string) (own, all chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all == nil {
		x.all, x.by = make(chan struct{}, atOnce), map[string]chan struct{}{}
	}
	if x.by[key] == nil {
		x.by[key] = make(chan struct{}, cmp.Or(x.ofOne, ofOneAtOnce))
	}
	return x.by[key], x.all
}

// inTurn makes an answer when it is its turn.
func (v *Server) inTurn(h http.HandlerFunc) http.HandlerFunc { return v.inTurnOf(&v.turns, h) }

func (v *Server) inTurnOf(x *turns, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		end, err := x.take(r.Context(), callerOf(r.Context()).key())
		switch {
		case errors.Is(err, errCrowd):
			respondError(w, http.StatusServiceUnavailable, "unavailable", err.Error())
			return
		case err != nil:
			v.fail(w, r, err)
			return
		}
		defer end()
		h(w, r)
	}
}

var errCrowd = errors.New("too many requests of this caller wait for their turn: wait for answers")

// take waits for a caller's turn, which lasts until end is called. Errors: errCrowd, and those of ctx.
func (x *turns) take(ctx context.Context, key string) (end func(), err error) {
	if !x.waiting.enter(key, waitingOfOne) {
		return nil, errCrowd
	}
	defer x.waiting.leave(key)
	own, all := x.of(key)
	select {
	case own <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case all <- struct{}{}:
		return func() { <-all; <-own }, nil
	case <-ctx.Done():
		<-own
		return nil, ctx.Err()
	}
}

// underWay is how many requests that come through a proxy from one address are answered at a time: they share the
// proxy's connections. Of all others connections are counted, see conns.
const underWay = maxConnsEach / 2
