package snapshot

import (
	"cmp"

	"github.com/dyno-perf/dyno/internal/state"
)

// Gather collects what the server was doing, for Snapshot.Moments, spread evenly over a window whose length in readings
// is not known: when there are too many, every second one goes and only every second one of the rest is taken from then
// on.
type Gather struct {
	kept   []state.State
	last   *state.State // the newest, always
	stride int
	n      int
	status string // the newest text, which readings seldom bring
}

// Add takes a reading's state; one of a server that did not answer says nothing.
func (m *Gather) Add(x *state.State) {
	if x == nil || !x.Up {
		return
	}
	m.stride = max(1, m.stride)
	c := *x
	m.status = cmp.Or(c.EngineStatus, m.status)
	c.EngineStatus = ""
	state.Cap(&c) // a reading has thousands of sessions
	m.last = &c
	if m.n%m.stride == 0 {
		m.kept = append(m.kept, c)
	}
	m.n++
	if len(m.kept) < 2*MaxMoments {
		return
	}
	half := m.kept[:0:0]
	for i := 0; i < len(m.kept); i += 2 {
		half = append(half, m.kept[i])
	}
	m.kept, m.stride = half, 2*m.stride
}

// Pick returns at most MaxMoments of them in order of time, the last one always, each within the limits of a
// kept state. The last one carries the engine's newest report.
func (m *Gather) Pick() []state.State {
	if m.last == nil {
		return nil
	}
	all := m.kept
	if n := len(all); n == 0 || !all[n-1].At.Equal(m.last.At) {
		all = append(all[:n:n], *m.last)
	}
	out := make([]state.State, 0, MaxMoments)
	for i := range min(len(all), MaxMoments) {
		at := i
		if len(all) > MaxMoments {
			at = i * (len(all) - 1) / (MaxMoments - 1)
		}
		x := all[at]
		x.Vitals, x.Classes = nil, nil // the snapshot has both in full
		out = append(out, x)
	}
	out[len(out)-1].EngineStatus = m.status
	for i := range out {
		state.Cap(&out[i])
		if i < len(out)-wholeMoments {
			slim(&out[i])
		}
	}
	return out
}

// Of a server with hundreds of busy sessions only the last moments are kept as they are.
const (
	wholeMoments = 2
	slimSessions = 60
	slimWaits    = 120
	slimText     = 400 // bytes of a statement
)

// slim shortens the lists of a moment; what is left out is counted. Sessions that take part in a wait go last.
func slim(x *state.State) {
	if n := len(x.Waits) - slimWaits; n > 0 {
		x.Waits, x.Left.Waits = x.Waits[:slimWaits:slimWaits], x.Left.Waits+n
	}
	if n := len(x.Transactions) - slimSessions; n > 0 {
		x.Transactions, x.Left.Transactions = x.Transactions[:slimSessions:slimSessions], x.Left.Transactions+n
	}
	involved := map[uint64]bool{}
	for _, w := range x.Waits {
		involved[w.Waiter] = true
		if b, ok := w.Blocker.Get(); ok {
			involved[b] = true
		}
	}
	room := slimSessions - len(involved)
	kept := x.Sessions[:0:0]
	for _, s := range x.Sessions {
		if !involved[s.ID] {
			if room <= 0 {
				continue
			}
			room--
		}
		s.SQL, s.Last = state.Clip(s.SQL, slimText), state.Clip(s.Last, slimText)
		kept = append(kept, s)
	}
	x.Left.Sessions += len(x.Sessions) - len(kept)
	x.Sessions = kept
}
