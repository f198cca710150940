package httpapi

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/task"
)

// Bounds of the stream. A second of 200 targets is 200 updates.
const (
	maxStreams = 64   // clients at a time
	maxOwn     = 8    // of one caller
	maxBehind  = 2048 // updates that a client may be behind before it is dropped
	// full states that wait in all streams of a caller, which may have hundreds of kilobytes; further ones come without
	// lists
	maxFull     = 64
	leastFull   = 4      // that each stream may have waiting, whatever the caller's others have
	maxReplayed = 20_000 // updates that are remembered
)

var (
	errStreams = errors.New("too many streams are open: close one")
	errOwn     = errors.New("this caller has too many streams open: close one")
)

// hub hands updates to the clients of the stream and remembers the last ones for those that come back.
type hub struct {
	keep time.Duration
	boot string // tells this process's numbers from those of one before

	mu      sync.Mutex
	seq     uint64
	ring    []update           // oldest first; without full states, which would take hundreds of megabytes
	clients map[*client]string // and whose they are
}

// update is what one reading gave, or a change of a task.
type update struct {
	seq     uint64
	came    time.Time
	target  string
	summary *state.State // the state without lists
	full    *state.State // with them; nil when it is replayed, or the client does not want it
	text    *encoded     // of full, for all clients
	events  []event.Event
	task    *task.Task // a change of a task, then nothing else
}

// encoded is something as JSON, which is made when it is first asked for, once.
type encoded struct {
	once sync.Once
	b    []byte
	err  error
}

func (e *encoded) of(x any) ([]byte, error) {
	e.once.Do(func() { e.b, e.err = json.Marshal(x) })
	return e.b, e.err
}

// client is one who follows.
type client struct {
	updates chan update
	full    func(target string) bool // whether it wants full states of a target
	waiting *atomic.Int32            // full states in updates of all the caller's clients
	own     atomic.Int32             // in those of this one
	late    chan struct{}            // closed when the client was dropped because updates is full
}

func newHub(keep time.Duration) *hub {
	return &hub{keep: keep, boot: rand.Text()[:8], clients: map[*client]string{}}
}

func (h *hub) publish(r reading.Reading) {
	if r.State == nil && len(r.Events) == 0 {
		return
	}
	u := update{target: r.Target, events: r.Events, full: r.State}
	if s := r.State; s != nil {
		u.summary = &state.State{
			Target: r.Target, At: s.At, Up: s.Up, Reason: s.Reason, NotConfigured: s.NotConfigured,
			LoginRefused: s.LoginRefused,
			Server:       s.Server, Vitals: s.Vitals, Connections: s.Connections, Idle: s.Idle,
		}
	}
	h.add(u)
}

// add numbers an update, hands it on and remembers it.
func (h *hub) add(u update) {
	u.came = time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	u.seq = h.seq
	if u.full != nil {
		u.text = new(encoded)
	}
	for c := range h.clients {
		x := u
		if u.full != nil && (!c.full(u.target) || c.waiting.Load() >= maxFull && c.own.Load() >= leastFull) {
			x.full = nil
		}
		if x.full != nil { // before it can be taken
			c.waiting.Add(1)
			c.own.Add(1)
		}
		select {
		case c.updates <- x:
		default: // never wait for a client: the next reading is due
			c.took(x)
			close(c.late)
			delete(h.clients, c)
		}
	}
	u.full, u.text = nil, nil
	h.ring = append(h.ring, u)
	drop := max(0, len(h.ring)-maxReplayed)
	for drop < len(h.ring) && u.came.Sub(h.ring[drop].came) > h.keep {
		drop++
	}
	clear(h.ring[:drop]) // the states behind them can go
	h.ring = h.ring[drop:]
}

// follow adds a client of who. With the id of the last update that it saw it gets what came since, seen is
// the number of the update before the first that it gets; note tells what it missed. What it takes out of
// updates it tells by took.
func (h *hub) follow(
	who, lastID string, full func(target string) bool,
) (c *client, seen uint64, missed []update, note string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) >= maxStreams {
		return nil, 0, nil, "", errStreams
	}
	own, waiting := 0, new(atomic.Int32)
	for x, of := range h.clients {
		if of == who {
			own++
			waiting = x.waiting
		}
	}
	if own >= maxOwn {
		return nil, 0, nil, "", errOwn
	}
	if lastID != "" {
		boot, n, _ := strings.Cut(lastID, "-")
		seq, err := strconv.ParseUint(n, 10, 64)
		switch {
		case err != nil || boot != h.boot || seq > h.seq:
			note = "this is another run of the program, or the id is not one of its; what came since cannot be sent " +
				"again"
		default:
			i := 0
			for i < len(h.ring) && h.ring[i].seq <= seq {
				i++
			}
			missed = append(missed, h.ring[i:]...)
			if lost := h.seq - seq - uint64(len(missed)); lost > 0 {
				note = strconv.FormatUint(lost, 10) + " updates were missed and are no longer remembered"
			}
		}
	}
	c = &client{updates: make(chan update, maxBehind), full: full, waiting: waiting, late: make(chan struct{})}
	h.clients[c] = who
	return c, h.seq - uint64(len(missed)), missed, note, nil
}

// took counts an update that does not wait any more.
func (c *client) took(u update) {
	if u.full != nil {
		c.waiting.Add(-1)
		c.own.Add(-1)
	}
}

func (h *hub) leave(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, c)
	for len(c.updates) > 0 {
		c.took(<-c.updates)
	}
}

// id is what a client sends as Last-Event-ID when it comes back.
func (h *hub) id(seq uint64) string { return h.boot + "-" + strconv.FormatUint(seq, 10) }
