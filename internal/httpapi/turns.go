package httpapi

import (
	"net/http"
	"sync"
)

// Answers that are made at the same time: some take a second of a CPU and tens of MB, and this is often the machine of a database.
const (
	atOnce      = 16
	ofOneAtOnce = 4
)

// turns bounds how many answers are made at once, for one caller and in all. The rest wait for as long as their requests have.
type turns struct {
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
		x.by[key] = make(chan struct{}, ofOneAtOnce)
	}
	return x.by[key], x.all
}

// inTurn makes an answer when it is its turn.
func (v *Server) inTurn(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		own, all := v.turns.of(callerOf(r.Context()).key())
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
