package logdigest

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// sample is a statement that is kept as an example.
type sample struct {
	position
	at     int64
	time   uint64 // Query_time, nanoseconds
	draw   uint64 // by which typical samples are drawn
	thread uint64
	origin uint32
	cut    bool
	text   []byte
	plan   []byte
}

// position is where an entry begins.
type position struct {
	file   int
	offset int64
}

func (p position) before(q position) bool {
	return p.file < q.file || p.file == q.file && p.offset < q.offset
}

// draw gives every entry a number at random that only depends on where it stands. The entries with the lowest ones of a
// class are a fair choice of all, whatever parts the log is read in.
func (p position) draw() uint64 { // the finisher of SplitMix64
	x := uint64(p.offset) + uint64(p.file)*0xD1B54A32D192ED03 + 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// tier tells how much is kept of samples up to a number of classes.
type tier struct {
	classes int
	text    int // bytes of a statement
	drawn   int // samples of a class from which the typical one is chosen
}

var tiers = [...]tier{
	{1000, 16 << 10, 4},
	{10_000, 4 << 10, 2},
	{50_000, 1 << 10, 1},
	{math.MaxInt, 512, 0},
}

const (
	maxText = 32 << 20 // bytes of all samples together; beyond it, the longest are halved
	minText = 256
	maxPlan = 4 << 10
)

// sample keeps an entry as an example of its class if it is the slowest or drawn.
func (a *Aggregator) sample(i uint32, e *slowlog.Entry, pos position, r *row, draw uint64) {
	c, in := a.roster.classes[i], &a.roster.intakes[i]
	worst := c.worst == nil || r.time > in.slowest || r.time == in.slowest && pos.before(c.worst.position)
	drawn := draw < in.bar
	if !worst && !drawn {
		return
	}
	s := a.roster.reuse(c, worst, drawn)
	a.fill(s, e, pos, r, draw)
	a.roster.keep(i, s, worst, drawn)
	if a.roster.text > maxText && a.roster.maxText > minText {
		a.roster.maxText = max(minText, a.roster.maxText/2)
		a.roster.trim()
	}
}

// reuse returns a sample that is about to be replaced, or a new one.
func (l *roster) reuse(c *class, worst, drawn bool) *sample {
	if worst && c.worst != nil && !slices.Contains(c.drawn, c.worst) {
		return c.worst
	}
	if n := len(c.drawn); drawn && n > 0 && n == tiers[l.tier].drawn && c.drawn[n-1] != c.worst {
		return c.drawn[n-1]
	}
	return new(sample)
}

func (a *Aggregator) fill(s *sample, e *slowlog.Entry, pos position, r *row, draw uint64) {
	a.roster.text -= len(s.text)
	*s = sample{
		position: pos, at: r.at, time: r.time, draw: draw, thread: e.Thread, origin: r.origin,
		text: s.text[:0], plan: s.plan[:0],
	}
	sql, most := e.SQL, a.roster.maxText
	if a.config.Redact { // the same text whatever is left of it later
		most = a.config.MaxSample
	}
	if len(sql) > most {
		sql, s.cut = whole8(sql[:most]), true
	}
	switch {
	case e.Admin:
		s.text = append(append(s.text, adminMark...), sql...)
	case a.config.Redact:
		a.scratch = mytext.Redact(a.scratch[:0], sql)
		sql = a.scratch
		fallthrough
	default:
		if !a.config.Redact {
			sql = mytext.WithoutSecrets(sql)
		}
		if len(sql) > a.roster.maxText {
			sql, s.cut = whole8(sql[:a.roster.maxText]), true
		}
		s.text = append(s.text, sql...)
	}
	s.plan = append(s.plan, e.Plan[:min(len(e.Plan), maxPlan)]...)
	a.roster.text += len(s.text)
}

// adminMark stands before an administrator command, as in a log: it is no statement.
const adminMark = "# administrator command: "

// whole8 leaves off a character that was cut through.
func whole8(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// keep puts a sample into its class's places.
func (l *roster) keep(i uint32, s *sample, worst, drawn bool) {
	c := l.classes[i]
	if worst {
		if c.worst != nil && c.worst != s && !slices.Contains(c.drawn, c.worst) {
			l.text -= len(c.worst.text)
		}
		c.worst, l.intakes[i].slowest = s, s.time
	}
	limit := tiers[l.tier].drawn
	if drawn && limit > 0 {
		if n := len(c.drawn); n == limit {
			if last := c.drawn[n-1]; last != s && last != c.worst {
				l.text -= len(last.text)
			}
			c.drawn = c.drawn[:n-1]
		}
		at, _ := slices.BinarySearchFunc(c.drawn, s, byDraw)
		c.drawn = slices.Insert(c.drawn, at, s)
	}
	l.setBar(i, limit)
}

func byDraw(a, b *sample) int {
	switch {
	case a.draw < b.draw || a.draw == b.draw && a.before(b.position):
		return -1
	case a.position == b.position:
		return 0
	}
	return 1
}

// setBar sets the draw below which an entry is kept.
func (l *roster) setBar(i uint32, limit int) {
	in, drawn := &l.intakes[i], l.classes[i].drawn
	switch n := len(drawn); {
	case limit == 0:
		in.bar = 0
	case n < limit:
		in.bar = math.MaxUint64
	default:
		in.bar = drawn[n-1].draw
	}
}

// trim brings the samples of all classes down to what the number of classes allows.
func (l *roster) trim() {
	if l.tier > 0 {
		l.maxText = min(l.maxText, tiers[l.tier].text)
	}
	limit := tiers[l.tier].drawn
	l.text = 0
	for i, c := range l.classes {
		if len(c.drawn) > limit {
			c.drawn = slices.Clone(c.drawn[:limit])
		}
		l.setBar(uint32(i), limit)
		l.shorten(c.worst)
		for _, s := range c.drawn {
			if s != c.worst {
				l.shorten(s)
			}
		}
	}
}

func (l *roster) shorten(s *sample) {
	if s == nil {
		return
	}
	if len(s.text) > l.maxText {
		s.text, s.cut = bytes.Clone(whole8(s.text[:l.maxText])), true
	}
	l.text += len(s.text)
}

// mergeSamples keeps the samples of a class of another aggregator where they win.
func (l *roster) mergeSamples(i uint32, o *class, to *renumber) {
	c, in := l.classes[i], &l.intakes[i]
	have := map[*sample]*sample{}
	take := func(s *sample) *sample {
		if n := have[s]; n != nil {
			return n
		}
		n := new(sample)
		*n = *s
		if to != nil {
			n.origin = uint32(to.origins[s.origin])
		}
		if len(n.text) > l.maxText {
			n.text, n.cut = whole8(n.text[:l.maxText]), true
		}
		l.text += len(n.text)
		have[s] = n
		return n
	}
	if s := o.worst; s != nil && (c.worst == nil || s.time > in.slowest || s.time == in.slowest &&
		s.before(c.worst.position)) {
		l.keep(i, take(s), true, false)
	}
	for _, s := range o.drawn {
		if s.draw < in.bar {
			l.keep(i, take(s), false, true)
		}
	}
}

// typical returns the drawn sample nearest to the median; nil when there is none but the slowest.
func (c *class) typical(median float64) *sample {
	var best *sample
	for _, s := range c.drawn {
		if c.worst != nil && s.position == c.worst.position {
			continue
		}
		if best == nil || math.Abs(float64(s.time)-median) < math.Abs(float64(best.time)-median) {
			best = s
		}
	}
	return best
}
