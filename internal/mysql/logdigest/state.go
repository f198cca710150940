package logdigest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// stateMark begins what AppendState writes; its number is the format's.
const stateMark = "dyno digest state 1\n"

// Errors of ReadState.
var (
	ErrStateDamaged = errors.New("read state of digest: damaged or cut off")
	ErrStateVersion = errors.New("read state of digest: written by another version of dyno, or no state at all")
	ErrStateConfig  = errors.New("read state of digest: made with other options (group by, redact, since, until, " +
		"sample): use the same, or start a new state")
)

// AppendState appends all that a counted, for ReadState: a later Aggregator goes on as if it had counted this all
// itself. With Config.Redact it holds no literal.
func (a *Aggregator) AppendState(dst []byte) []byte {
	w := &writer{append(dst, stateMark...)}
	w.bytes(a.config.mark())
	w.int(a.base)
	for _, v := range []uint64{a.entries, a.filtered, a.own, a.skips.n} {
		w.uint(v)
	}
	w.int(a.skips.bytes)
	w.bool(a.rated)
	w.int(int64(a.roster.rest))
	w.uint(uint64(a.roster.maxText))
	a.skips.sort()
	w.uint(uint64(len(a.skips.first)))
	for _, s := range a.skips.first {
		w.position(s.position)
		w.int(s.length)
		w.text(s.reason)
	}
	w.uint(uint64(len(a.origins.list)))
	for _, o := range a.origins.list {
		w.text(o.user)
		w.text(o.host)
		w.text(o.db)
	}
	w.uint(uint64(len(a.headers.slots)))
	for i := range a.headers.slots {
		x := &a.headers.slots[i].info
		w.text(x.Name)
		w.text(x.Key)
		w.text(x.Label)
		w.uint(uint64(x.Unit))
	}
	w.uint(uint64(len(a.headers.layouts)))
	for i := range a.headers.layouts {
		l := &a.headers.layouts[i]
		w.uint(uint64(len(l.slots)))
		for j, s := range l.slots {
			w.int(int64(s))
			at := l.places[j].attribute
			if at >= slowlog.FirstUnknown {
				at = noAttribute
			}
			w.uint(uint64(at))
		}
	}
	w.uint(uint64(len(a.spill.bins)))
	for i := range a.spill.bins {
		w.b = a.spill.bins[i].AppendBinary(w.b)
	}
	w.uint(uint64(len(a.roster.classes)))
	for i, c := range a.roster.classes {
		w.class(c, &a.roster.intakes[i])
	}
	return binary.LittleEndian.AppendUint32(w.b, crc32.ChecksumIEEE(w.b[len(dst):]))
}

// mark tells Configs apart that count different things.
func (c *Config) mark() []byte {
	return fmt.Appendf(nil, "%d %t %d %d %t %d %d %d", c.GroupBy, c.Redact, c.MaxSample, c.MaxClasses, c.LeaveOwn,
		c.Sample, c.Since, c.Until)
}

func (w *writer) position(p position) {
	w.uint(uint64(p.file))
	w.int(p.offset)
}

func (r *reader) position() position { return position{int(r.uint()), r.int()} }

func (w *writer) class(c *class, in *intake) {
	w.b = append(w.b, c.id[:]...)
	w.text(c.text)
	w.uint(in.n)
	w.position(in.first())
	w.bool(c.sum != nil)
	if c.sum != nil {
		w.summary(c.sum)
	}
	w.bytes(in.list)
	w.uint(uint64(in.rows))
	samples := slices.Clone(c.drawn)
	w.uint(uint64(len(samples)))
	for _, s := range samples {
		w.sample(s)
	}
	i := slices.Index(samples, c.worst)
	w.int(int64(i))
	if i < 0 {
		w.bool(c.worst != nil)
		if c.worst != nil {
			w.sample(c.worst)
		}
	}
}

func (w *writer) sample(s *sample) {
	w.position(s.position)
	w.int(s.at)
	for _, v := range []uint64{s.time, s.draw, s.thread, uint64(s.origin)} {
		w.uint(v)
	}
	w.bool(s.cut)
	w.bytes(s.text)
	w.bytes(s.plan)
}

func (r *reader) sample() *sample {
	s := &sample{
		position: r.position(), at: r.int(), time: r.uint(), draw: r.uint(), thread: r.uint(),
		origin: uint32(r.uint()), cut: r.bool(),
	}
	s.text, s.plan = bytes.Clone(r.bytes()), bytes.Clone(r.bytes())
	return s
}

func (w *writer) summary(s *summary) {
	w.uint(s.n)
	w.uint(s.entries)
	w.int(s.first)
	w.int(s.last)
	w.uints(s.histogram[:])
	w.uints(s.loose)
	w.uints(s.flags)
	w.uint(s.killed)
	w.tallies(&s.layouts)
	w.tallies(&s.origins)
	w.tallies(&s.errors)
	w.uint(uint64(s.minutes.shift))
	w.int(s.minutes.start)
	w.uint(uint64(len(s.minutes.steps)))
	for _, x := range s.minutes.steps {
		w.uint(x.n)
		w.uint(x.time)
	}
	w.uint(uint64(s.only))
	w.uint(uint64(len(s.columns)))
	for _, c := range s.columns {
		w.bool(c != nil)
		if c != nil {
			w.column(c)
		}
	}
}

func (r *reader) summary(spill *spill) *summary {
	s := &summary{n: r.uint(), entries: r.uint(), first: r.int(), last: r.int()}
	copy(s.histogram[:], r.uints())
	s.loose, s.flags, s.killed = r.uints(), r.uints(), r.uint()
	r.tallies(&s.layouts)
	r.tallies(&s.origins)
	r.tallies(&s.errors)
	s.minutes.shift, s.minutes.start = uint8(min(r.uint(), 63)), r.int()
	s.minutes.steps = make([]step, r.count())
	for i := range s.minutes.steps {
		s.minutes.steps[i] = step{r.uint(), r.uint()}
	}
	s.only = int(r.uint())
	s.columns = make([]*column, r.count())
	for i := range s.columns {
		if r.bool() {
			c := r.column()
			if s.columns[i] = c; c.bins != nil {
				spill.kept++
			}
			if c.odd != nil {
				spill.odd++
			}
		}
	}
	return s
}

func (w *writer) tallies(t *tallies) {
	w.uint(uint64(len(t.few) + len(t.many)))
	t.each(func(id uint32, n uint64) {
		w.uint(uint64(id))
		w.uint(n)
	})
}

func (r *reader) tallies(t *tallies) {
	for range r.count() {
		id := uint32(r.uint())
		t.add(id, r.uint())
	}
}

func (w *writer) column(c *column) {
	for _, v := range []uint64{c.n, c.sumLow, c.sumHigh, c.squaresLow, c.squaresHigh, c.least, c.most} {
		w.uint(v)
	}
	w.bool(c.bins != nil)
	if c.bins != nil {
		w.b = c.bins.AppendBinary(w.b)
	}
	w.bool(c.odd != nil)
	if o := c.odd; o != nil {
		w.uint(o.n)
		w.big(o.sum)
		w.big(o.squares)
		w.b = o.sketch.AppendBinary(w.b)
	}
}

func (r *reader) column() *column {
	c := &column{
		n: r.uint(), sumLow: r.uint(), sumHigh: r.uint(), squaresLow: r.uint(), squaresHigh: r.uint(),
		least: r.uint(), most: r.uint(),
	}
	if r.bool() {
		b := r.bins()
		c.bins = &b
	}
	if r.bool() {
		c.odd = newOdd()
		c.odd.n = r.uint()
		r.big(c.odd.sum)
		r.big(c.odd.squares)
		c.odd.sketch = r.sketch()
	}
	return c
}

// ReadState returns an Aggregator as it was when AppendState wrote p. The Config has to be the one that it had; whether
// the Filter is the same is up to the caller.
func ReadState(c Config, p []byte) (*Aggregator, error) {
	body, ok := bytes.CutPrefix(p, []byte(stateMark))
	if !ok {
		return nil, ErrStateVersion
	}
	n := len(p) - 4
	if len(body) < 4 || crc32.ChecksumIEEE(p[:n]) != binary.LittleEndian.Uint32(p[n:]) {
		return nil, ErrStateDamaged
	}
	a := New(c)
	r := &reader{b: body[:len(body)-4]}
	if !bytes.Equal(r.bytes(), a.config.mark()) {
		return nil, ErrStateConfig
	}
	a.base = r.int()
	a.entries, a.filtered, a.own, a.skips.n = r.uint(), r.uint(), r.uint(), r.uint()
	a.skips.bytes = r.int()
	a.rated = r.bool()
	a.roster.rest = int(r.int())
	a.roster.maxText = int(r.uint())
	for range r.count() {
		a.skips.first = append(a.skips.first, skip{r.position(), r.int(), r.text()})
	}
	for i := range r.count() {
		o := origin{r.text(), r.text(), r.text()}
		if i > 0 { // the first is others
			a.origins.number(o)
		}
	}
	for range r.count() {
		a.headers.slotOf(slowlog.Described(attribute.Info{
			Name: r.text(), Key: r.text(), Label: r.text(), Unit: attribute.Unit(r.uint()),
		}))
	}
	for range r.count() {
		if !a.headers.readLayout(r) {
			return nil, ErrStateDamaged
		}
	}
	for range r.count() {
		a.spill.bins = append(a.spill.bins, r.bins())
	}
	for range r.count() {
		a.readClass(r)
	}
	if r.bad || len(r.b) > 0 || a.roster.rest >= len(a.roster.classes) {
		return nil, ErrStateDamaged
	}
	return a, nil
}

func (h *headers) readLayout(r *reader) bool {
	var l layout
	for range r.count() {
		s := int(r.int())
		at := slowlog.Attribute(r.uint())
		if s >= len(h.slots) || s < -1 {
			return false
		}
		l.own = l.own || at == noAttribute
		l.slots = append(l.slots, s)
		l.places = append(l.places, place{attribute: at})
	}
	return h.addLayout(l) != loose
}

func (a *Aggregator) readClass(r *reader) {
	if len(r.b) < 16 {
		r.fail()
		return
	}
	c, in := &class{}, intake{}
	r.b = r.b[copy(c.id[:], r.b):]
	c.text = r.text()
	in.n = r.uint()
	in.setFirst(r.position())
	if r.bool() {
		c.sum = r.summary(a.spill)
		c.sum.spill = a.spill
		a.summaries++
	}
	in.list = bytes.Clone(r.bytes())
	in.rows = uint32(r.uint())
	for range r.count() {
		c.drawn = append(c.drawn, r.sample())
	}
	if i := r.int(); i >= 0 && i < int64(len(c.drawn)) {
		c.worst = c.drawn[i]
	} else if r.bool() {
		c.worst = r.sample()
	}
	if r.bad {
		return
	}
	a.roster.byID[c.id] = uint32(len(a.roster.classes))
	a.roster.classes, a.roster.intakes = append(a.roster.classes, c), append(a.roster.intakes, in)
	a.roster.prints += len(c.text)
	for _, s := range c.drawn {
		a.roster.text += len(s.text)
	}
	if c.worst != nil {
		a.roster.intakes[len(a.roster.classes)-1].slowest = c.worst.time
		if !slices.Contains(c.drawn, c.worst) {
			a.roster.text += len(c.worst.text)
		}
	}
	for len(a.roster.classes) > tiers[a.roster.tier].classes {
		a.roster.tier++
	}
	a.roster.setBar(uint32(len(a.roster.classes)-1), tiers[a.roster.tier].drawn)
}
