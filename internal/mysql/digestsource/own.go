package digestsource

import (
	"maps"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// own tells Dyno's statements from others' where the server does not say who sent them: digests
// know neither session nor account, and have lost the tag, which proves nothing anyway. A statement
// is Dyno's own as often as Dyno has sent it, or if a session of Dyno's was seen with it.
type own struct {
	sent map[string]uint64 // executions by Dyno's processes that know of each other, within the window, by key
	left map[string]uint64 // of these, and a few at the edges of the window, those that were not found yet
	also map[string]bool   // seen in sessions of a Dyno that is not known, nor how often it sends them
	n    uint64            // executions of also that are not of sent
	sec  float64           // their time
	keys [][]string        // of sent and of also, in order; made when they are needed
}

// newOwn returns what this many Dyno processes sent between two calls of target.Sent. Keys that they sent before are
// known, with a count of zero within the window.
func newOwn(before, now map[string]uint64, processes int, also map[string]bool) *own {
	o := &own{sent: map[string]uint64{}, left: map[string]uint64{}, also: also}
	for k, n := range now {
		n -= min(n, before[k])
		// The edges are not sharp. All processes read in the same seconds, so at an edge each may have one statement
		// running; one more may have ended since. The words of an EXPLAIN are somebody else's, who may send it too.
		edge := 1 + uint64(processes) + n/10
		if strings.HasPrefix(k, "explain") {
			edge = 1
		}
		o.sent[k], o.left[k] = n, n+edge
	}
	return o
}

// times returns how often Dyno sent a statement like sql within the window.
func (o *own) times(sql string) uint64 { return o.sent[class.Key(mytext.Fingerprint(sql))] }

// take takes Dyno's executions out of a row of the digests and returns how many there are. What is
// left, none for most, is somebody else's.
func (o *own) take(x *growth) (n uint64) {
	k := class.Key(x.fingerprint)
	if _, sent := o.sent[k]; !sent && !o.also[k] {
		if k = o.longer(k, x.cut); k == "" {
			return 0
		}
	}
	count := x.row.v[cCount]
	n = min(count, o.left[k])
	o.left[k] -= n
	switch {
	case n == count:
	case o.also[k]:
		o.n += count - n
		o.sec += float64(x.row.v[cTime]) * picosecond * float64(count-n) / float64(count)
		n = count
	default:
		// A few more than were sent may have been taken.
		n = min(n, o.sent[k])
	}
	x.less(n)
	return n
}

// less takes executions out of a row, with their part of all sums.
func (x *growth) less(n uint64) {
	count := x.row.v[cCount]
	if n == 0 {
		return
	}
	for i := range cMax {
		x.row.v[i] -= uint64(float64(x.row.v[i]) * float64(n) / float64(count))
	}
	x.row.v[cCount] = count - n
	x.mixed, x.fresh, x.longer, x.shorter = true, false, false, false
	if sqltext.Own(x.row.sample) {
		x.row.sample = ""
	}
}

// longer returns the key of a statement of Dyno's whose beginning is left in a digest that was cut
// off; "" for none.
func (o *own) longer(k string, cut bool) string {
	if !cut || len(k) < 20 {
		return ""
	}
	if o.keys == nil {
		o.keys = [][]string{slices.Sorted(maps.Keys(o.sent)), slices.Sorted(maps.Keys(o.also))}
	}
	for _, keys := range o.keys {
		if i, _ := slices.BinarySearch(keys, k); i < len(keys) && strings.HasPrefix(keys[i], k) {
			return keys[i]
		}
	}
	return ""
}
