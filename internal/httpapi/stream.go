package httpapi

import (
	"encoding/json"
	"net/http"
	"os"
	"time"
)

const (
	// without updates a comment is sent this often, so that both sides notice a dead connection
	quiet       = 15 * time.Second
	writeWithin = 10 * time.Second // a client that takes no byte for so long is dropped
)

// stream sends what happens as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
func (v *Server) stream(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := params{values: q}
	full := false
	switch p.text("full") {
	case "", "0", "false":
	case "1", "true":
		full = true
	default:
		respondError(w, http.StatusBadRequest, "bad_data", `invalid parameter "full": it is 0 or 1`)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy must not collect it
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	targets := map[string]bool{} // asked for each update, with the hub locked: a request may name thousands
	for _, name := range q["target"] {
		targets[name] = true
	}
	wants := func(target string) bool { return len(targets) == 0 || targets[target] }
	c, seen, missed, note, err := v.hub.follow(callerOf(r.Context()).key(), r.Header.Get("Last-Event-ID"),
		func(target string) bool { return full && wants(target) })
	if err != nil {
		respondError(w, http.StatusServiceUnavailable, "unavailable", err.Error())
		return
	}
	defer v.hub.leave(c)

	w.WriteHeader(http.StatusOK)
	out := &writer{w: w, control: http.NewResponseController(w), within: v.writeWithin}
	_ = out.control.SetReadDeadline(time.Time{})
	// what ends an answer is written after this returns
	defer func() { _ = out.control.SetWriteDeadline(time.Now().Add(v.writeWithin)) }()
	out.raw("retry: 1000\nid: " + v.hub.id(seen) + "\n\n")
	if note != "" {
		out.send("note", "", map[string]string{"text": note})
	}
	beat := time.NewTicker(v.quiet)
	defer beat.Stop()
	send := func(u update) {
		seen = u.seq
		if !wants(u.target) && (u.task == nil || u.target != "") {
			return
		}
		beat.Reset(v.quiet)
		id := v.hub.id(u.seq)
		for i, e := range u.events {
			mine := ""
			if u.summary == nil && i == len(u.events)-1 {
				// the id stands at an update's last message: half of one is sent again
				mine = id
			}
			if e.Target == "" {
				e.Target = u.target
			}
			out.send("event", mine, e)
		}
		switch {
		case u.task != nil:
			out.send("task", id, u.task)
		case u.summary == nil:
		case u.full != nil:
			b, err := u.text.of(u.full)
			out.line("state", id, b, err)
		default:
			out.send("vitals", id, u.summary)
		}
	}
	out.flush()
	if len(missed) > 0 { // tens of thousands perhaps: as much work as any answer
		end, err := v.turns.take(r.Context(), callerOf(r.Context()).key())
		if err != nil {
			return // it comes again with the id of the last that it got
		}
		until := time.Now().Add(v.writeWithin) // others of this caller wait for the turn
		for _, u := range missed {
			if send(u); out.err == nil && time.Now().After(until) {
				out.err = os.ErrDeadlineExceeded // it comes again for the rest
			}
			if out.err != nil {
				break
			}
		}
		end()
	}
	out.flush()
	for out.err == nil {
		select {
		case <-c.late: // before the updates that still wait: they are what it is too slow for
			out.send("note", "", map[string]string{"text": "dropped: this client reads updates more slowly than they " +
				"arrive; connect again with Last-Event-ID"})
			out.flush()
			return
		default:
		}
		select {
		case u := <-c.updates:
			c.took(u)
			send(u)
			if len(c.updates) > 0 {
				continue // what came meanwhile goes out in one piece
			}
		case <-c.late:
			continue
		case <-beat.C:
			out.raw(": \nid: " + v.hub.id(seen) + "\n\n") // the id counts on where others' updates pass by
		case <-r.Context().Done():
			return
		}
		out.flush()
	}
}

// writer writes server-sent events; after the first error it does nothing.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
	err     error
}

func (o *writer) raw(s string) {
	if o.err == nil {
		_ = o.control.SetWriteDeadline(time.Now().Add(o.within))
		_, o.err = o.w.Write([]byte(s))
	}
}

// send writes one event.
func (o *writer) send(kind, id string, data any) {
	if o.err == nil {
		b, err := json.Marshal(data)
		o.line(kind, id, b, err)
	}
}

// line writes one event of what json.Marshal returned: JSON has no line breaks outside of its escapes.
func (o *writer) line(kind, id string, b []byte, err error) {
	if o.err != nil || err != nil { // a figure that is no number: leave this second out, not the client
		return
	}
	s := make([]byte, 0, len(b)+64)
	if id != "" {
		s = append(append(append(s, "id: "...), id...), '\n')
	}
	s = append(append(append(s, "event: "...), kind...), "\ndata: "...)
	s = append(append(s, b...), "\n\n"...)
	o.raw(string(s))
}

func (o *writer) flush() {
	if o.err == nil {
		o.err = o.control.Flush()
		// what has nothing to write has no deadline
		_ = o.control.SetWriteDeadline(time.Time{})
	}
}
