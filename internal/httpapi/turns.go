package httpapi

import (
	"cmp"
	"net/http"
	"sync"
)

// Answers that are made at the same time: some take a second of a CPU and tens of MB, and this is often the machine of a database.
const (
	atOnce      = 16
	ofOneAtOnce = 4

	queriesOfOneAtOnce = 2 // of those that run at a time, see series.Limits.Concurrent; queries take no other turn while they wait for theirs
)

// turns bounds how many answers are made at once, for one caller and in all. The rest wait for as long as their requests have.
type turns struct {
	ofOne int // for one caller; 0 is ofOneAtOnce

	mu  sync.Mutex
	all chan struct{}
	by  map[string]chan struct{} // by caller.key: users and tokens, which are few
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
		own, all := x.of(callerOf(r.Context()).key())
		for _, c := range []chan struct{}{own, all} {
			select {
			case c <- struct{}{}:
				defer func() { <-c }()
			case <-r.Context().Done():
				v.fail(w, r, r.Context().Err())
				return
			}
		}
		h(w, r)
	}
}
