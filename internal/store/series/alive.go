package series

import (
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// weight is how many series there are, and the bytes of their names and labels.
type weight struct{ n, text int }

// alive counts the series of each target in the head of the database, which calls it for each that begins or is
// forgotten.
type alive struct {
	mu sync.Mutex
	of map[string]weight
}

// room reports whether a target may have one more series.
func (a *alive) room(target string, ls labels.Labels) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.of[target]
	return w.n < mostAlive && w.text+int(ls.ByteSize()) <= mostAliveText
}

func (a *alive) add(sign int, ls labels.Labels) {
	target := ls.Get(targetLabel)
	w := a.of[target]
	w.n += sign
	w.text += sign * int(ls.ByteSize())
	if w.n <= 0 {
		delete(a.of, target)
		return
	}
	a.of[target] = w
}

// PreCreation implements tsdb.SeriesLifecycleCallback.
func (a *alive) PreCreation(labels.Labels) error { return nil }

// PostCreation implements tsdb.SeriesLifecycleCallback.
func (a *alive) PostCreation(ls labels.Labels) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(1, ls)
}

// PostDeletion implements tsdb.SeriesLifecycleCallback.
func (a *alive) PostDeletion(gone map[chunks.HeadSeriesRef]labels.Labels) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ls := range gone {
		a.add(-1, ls)
	}
}
