package digestsource

import (
	"cmp"
	"context"
	"database/sql/driver"
	"math"
	"slices"
	"strings"
	"time"
)

// times reads how the times of statements are distributed: MySQL 8.0 keeps a histogram for each digest and one for all
// statements, whose steps are 4.7 % wide (manual: "Statement Histogram Summary Tables"). They count since the row
// began, as everything there, so a window needs each one twice. All of them would be 450 rows for each digest: the
// first time only those that are busy are read, as many as the budget allows; a digest that begins within the window
// needs no first time.
type times struct {
	ask    *asker
	limits []float64 // upper limits of the steps, seconds; nil where the server has no histograms
	before map[digestKey]*steps
	most   int    // digests that are looked up at each end of a window
	all    *steps // of all statements, when the window began
}

const (
	maxSteps = 1000 // MySQL has 450
	// Looking one digest up takes the server time in proportion to the rows of its table: it compares each, about 0.1
	// µs. So as many are read as make lookups rows in all, within bounds, and none any more after busyTime once the
	// fewest are read.
	lookups  = 100_000
	fewest   = 10
	busiest  = 60
	busyTime = 30 * time.Millisecond
	// recent is how long ago the last statement of a busy digest may have ended.
	recent = time.Minute
)

const (
	byDigest = "performance_schema.events_statements_histogram_by_digest"
	ofAll    = "performance_schema.events_statements_histogram_global"
)

// prepare asks for the limits of the steps; a server without histograms, or an account that may not read them, gives
// none.
func (h *times) prepare(ctx context.Context) {
	h.limits = nil
	var limits []float64
	good := true
	err := h.ask.query(ctx, "SELECT BUCKET_NUMBER, BUCKET_TIMER_HIGH FROM "+ofAll+" ORDER BY BUCKET_NUMBER",
		func(row []driver.Value) {
			good = good && whole(row[0]) == uint64(len(limits)) && len(limits) < maxSteps
			if good {
				limits = append(limits, float64(whole(row[1]))*picosecond)
			}
		})
	if err == nil && good && slices.IsSorted(limits) {
		h.limits = limits
	}
}

func (h *times) ok() bool { return len(h.limits) > 1 }

// begin reads the distributions of the digests that a window that begins now is likely to ask for.
func (h *times) begin(ctx context.Context, p picture) {
	h.before, h.all = nil, nil
	if !h.ok() {
		return
	}
	h.all = h.global(ctx)
	type busy struct {
		digestKey
		time uint64
	}
	var list []busy
	from := p.at.server.Add(-recent)
	for k, r := range p.rows {
		if k.digest != "" && !moment(r.last).Before(from) {
			list = append(list, busy{k, r.v[cTime]})
		}
	}
	slices.SortFunc(list, func(a, b busy) int {
		return cmp.Or(cmp.Compare(b.time, a.time), strings.Compare(a.digest, b.digest),
			strings.Compare(a.schema, b.schema))
	})
	h.most = h.bound(len(p.rows))
	keys := make([]digestKey, 0, h.most)
	for _, b := range list[:min(len(list), h.most)] {
		keys = append(keys, b.digestKey)
	}
	h.before = h.read(ctx, keys)
}

// bound returns how many digests are looked up in a table with so many rows.
func (h *times) bound(rows int) int { return min(busiest, max(fewest, lookups/max(rows, 1))) }

// window returns the distributions of the rows within the window, of those that can be had. rows come with the most
// important first.
func (h *times) window(ctx context.Context, rows []growth) map[digestKey]*steps {
	if !h.ok() {
		return nil
	}
	var keys []digestKey
	fresh := map[digestKey]bool{}
	for _, x := range rows {
		fresh[x.digestKey] = x.fresh
		if x.fresh || h.before[x.digestKey] != nil {
			keys = append(keys, x.digestKey)
		}
	}
	out := map[digestKey]*steps{}
	for k, now := range h.read(ctx, keys[:min(len(keys), h.most)]) {
		switch old := h.before[k]; {
		case fresh[k]: // a row that began anew has an old distribution too, of other statements
			out[k] = now
		case old != nil && now.take(old):
			out[k] = now
		}
	}
	return out
}

// overall returns the distribution of all statements within the window, Dyno's own included; nil when it cannot be had.
func (h *times) overall(ctx context.Context) *steps {
	if !h.ok() || h.all == nil {
		return nil
	}
	now := h.global(ctx)
	if now == nil || !now.take(h.all) {
		return nil
	}
	return now
}

func (h *times) global(ctx context.Context) *steps {
	s := h.steps()
	err := h.ask.query(ctx, "SELECT BUCKET_NUMBER, COUNT_BUCKET FROM "+ofAll+" WHERE COUNT_BUCKET>0", s.row)
	if err != nil {
		return nil
	}
	return s
}

func (h *times) steps() *steps { return &steps{limits: h.limits, n: make([]uint64, len(h.limits))} }

// read asks for one digest after the other, by its key: the table has an index for that and none for lists.
func (h *times) read(ctx context.Context, keys []digestKey) map[digestKey]*steps {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out := map[digestKey]*steps{}
	for began := time.Now(); len(keys) > 0 && (len(out) < fewest || time.Since(began) < busyTime); keys = keys[1:] {
		k := keys[0]
		if strings.Trim(k.digest, "0123456789abcdefABCDEF") != "" {
			continue
		}
		schema := "SCHEMA_NAME IS NULL"
		if k.schema != "" {
			schema = "SCHEMA_NAME=" + quoted(k.schema)
		}
		s := h.steps()
		err := h.ask.query(ctx, "SELECT BUCKET_NUMBER, COUNT_BUCKET FROM "+byDigest+" WHERE "+schema+" AND DIGEST='"+
			k.digest+"' AND COUNT_BUCKET>0", s.row)
		if err != nil {
			return out // what is missing is unknown
		}
		out[k] = s
	}
	return out
}

// quoted writes a string for the asker's connection, whose sql_mode is empty.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}

// steps counts statements by their time.
type steps struct {
	limits []float64
	n      []uint64
}

func (s *steps) row(r []driver.Value) {
	if i := whole(r[0]); i < uint64(len(s.n)) {
		s.n[i] = whole(r[1])
	}
}

// take subtracts what was counted before; it reports false when that was more, so that the counting began anew.
func (s *steps) take(old *steps) bool {
	if len(s.n) != len(old.n) {
		return false
	}
	for i, n := range old.n {
		if n > s.n[i] {
			return false
		}
		s.n[i] -= n
	}
	return true
}

func (s *steps) add(b *steps) {
	for i, n := range b.n {
		s.n[i] += n
	}
}

func (s *steps) count() (n uint64) {
	for _, x := range s.n {
		n += x
	}
	return n
}

func (s *steps) low(i int) float64 {
	if i == 0 {
		return 0
	}
	return s.limits[i-1]
}

// mid stands for the statements of a step; the last one has no end that means anything.
func (s *steps) mid(i int) float64 {
	if i == len(s.n)-1 {
		return s.low(i)
	}
	return (s.low(i) + s.limits[i]) / 2
}

// quantile returns the time that the share q of the statements does not exceed, within its step as if they were spread
// evenly.
func (s *steps) quantile(q float64) float64 {
	n := s.count()
	if n == 0 {
		return 0
	}
	rank := max(1, uint64(math.Ceil(q*float64(n))))
	for i, x := range s.n {
		if rank <= x {
			if i == len(s.n)-1 {
				return s.low(i)
			}
			return s.low(i) + (s.limits[i]-s.low(i))*(float64(rank)-0.5)/float64(x)
		}
		rank -= x
	}
	return 0
}

// stddev returns the deviation of the sample.
func (s *steps) stddev() float64 {
	n, sum := float64(s.count()), 0.0
	if n < 2 {
		return 0
	}
	for i, x := range s.n {
		sum += float64(x) * s.mid(i)
	}
	mean, square := sum/n, 0.0
	for i, x := range s.n {
		d := s.mid(i) - mean
		square += float64(x) * d * d
	}
	return math.Sqrt(square / (n - 1))
}

// ends returns the limits of the first and the last step that hold statements.
func (s *steps) ends() (low, high float64) {
	first := slices.IndexFunc(s.n, func(n uint64) bool { return n > 0 })
	if first < 0 {
		return 0, 0
	}
	last := first
	for i, n := range s.n {
		if n > 0 {
			last = i
		}
	}
	return s.low(first), s.limits[last]
}

// decades counts by powers of ten, from below 10 µs on, as digest.Row does.
func (s *steps) decades() (out [8]uint64) {
	for i, n := range s.n {
		d, limit := 0, 10e-6
		for d < len(out)-1 && s.mid(i) >= limit {
			d, limit = d+1, limit*10
		}
		out[d] += n
	}
	return out
}
