package digestsource

import (
	"strings"

	"dyno/internal/sqltext"
)

// own tells Dyno's statements from others' where the server does not say who sent them: digests know neither session nor account, and have
// lost the tag, which proves nothing anyway. A statement is Dyno's own if this process sends it, or a session of Dyno's was seen with it.
type own struct {
	sent map[string]uint64 // executions by this process within the window, by key
	also map[string]bool   // seen with a session of another dyno
	seen map[string]*executions
}

// executions are what the server counted of one statement.
type executions struct {
	count uint64
	sec   float64
}

// newOwn returns what this process sent between two calls of target.Sent. Keys that it sent before are known, with none within the window.
func newOwn(before, now map[string]uint64, also map[string]bool) *own {
	o := &own{sent: map[string]uint64{}, also: also, seen: map[string]*executions{}}
	for k, n := range now {
		o.sent[k] = n - min(n, before[k])
	}
	return o
}

// times returns how often this process sent a statement like sql within the window.
func (o *own) times(sql string) uint64 { return o.sent[sqltext.Key(sqltext.Fingerprint(sql))] }

// take reports whether a row of the digests is of a statement of Dyno's, and counts it.
func (o *own) take(x growth) bool {
	k := sqltext.Key(x.fingerprint)
	if _, sent := o.sent[k]; !sent && !o.also[k] {
		if k = o.longer(k, x.cut); k == "" {
			return false
		}
	}
	// The words of an EXPLAIN are somebody else's, who may send it too: no more is left out than was sent, and one at the edge of a window.
	if strings.HasPrefix(k, "explain") && !o.also[k] && x.row.v[cCount] > o.sent[k]+1 {
		return false
	}
	e := o.seen[k]
	if e == nil {
		e = new(executions)
		o.seen[k] = e
	}
	e.count += x.row.v[cCount]
	e.sec += float64(x.row.v[cTime]) * picosecond
	return true
}

// longer returns the key of a statement of Dyno's whose beginning is left in a digest that was cut off; "" for none.
func (o *own) longer(k string, cut bool) string {
	if !cut || len(k) < 20 {
		return ""
	}
	for s := range o.sent {
		if strings.HasPrefix(s, k) {
			return s
		}
	}
	for s := range o.also {
		if strings.HasPrefix(s, k) {
			return s
		}
	}
	return ""
}

// others returns the executions of Dyno's statements that this process did not send, and their share of the time. The edges of a window are not
// sharp: a few are not spoken of.
func (o *own) others() (n uint64, sec float64) {
	for k, e := range o.seen {
		mine := o.sent[k]
		if more := e.count - min(e.count, mine); more > 2+mine/10 {
			n += more
			sec += e.sec * float64(more) / float64(e.count)
		}
	}
	return n, sec
}
