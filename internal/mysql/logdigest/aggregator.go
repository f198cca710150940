package logdigest

import (
	"math"
	"strings"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// Aggregator sums up entries by class. It is not safe for concurrent use: every worker has its own, and they are merged
// in the end.
type Aggregator struct {
	config   Config
	keyer    mytext.Keyer
	keys     keys
	headers  headers
	roster   roster
	commands []command
	many     [][]uint32 // lists of classes, for statements that belong to several

	spill    *spill
	origins  origins
	byOrigin []uint32 // class + 1 by origin, when grouped by a part of it

	base     int64 // what the times in lists count from, microseconds since 1970
	entries  uint64
	filtered uint64
	own      uint64
	rated    bool // some entry stood for several statements
	skips    skips

	summaries int // classes beyond their list
	row       row
	replayed  row
	packer    packer
	matrix    matrix
	scratch   []byte
}

// roster is the classes, with as much of their statements as their number has room for.
type roster struct {
	byID    map[[16]byte]uint32
	classes []*class
	intakes []intake // one for every class
	rest    int      // the class of statements that came when there were most classes already, -1 = none did
	most    int
	room    *int // see Config.Room
	tier    int
	maxText int // bytes of a sample
	text    int // bytes of all samples
	prints  int // bytes of all fingerprints
}

// maxRows is how many entries a class keeps as a list before they are counted in its summary, all at once: one after
// the other they would find nothing of it in the processor's cache.
const maxRows = 64

// intake is what every entry of a class touches: one line of the processor's cache.
type intake struct {
	list    []byte // entries that are not in the summary yet
	n       uint64 // statements
	offset  int64  // of its first entry in file
	file    uint32
	rows    uint32 // how many are in list
	slowest uint64 // Query_time of the worst sample
	bar     uint64 // entries with a lower draw are kept as samples
}

func (in *intake) first() position { return position{int(in.file), in.offset} }

func (in *intake) setFirst(p position) { in.file, in.offset = uint32(p.file), p.offset }

// class is what else is kept of a class.
type class struct {
	id    [16]byte
	text  string   // the fingerprint, or another value to group by
	sum   *summary // nil while the intake's list has all entries
	worst *sample
	drawn []*sample // by draw
}

// New returns an empty Aggregator.
func New(c Config) *Aggregator {
	if c.MaxSample <= 0 {
		c.MaxSample = tiers[0].text
	}
	if c.MaxClasses <= 0 {
		c.MaxClasses = MaxClasses
	}
	return &Aggregator{
		config:  c,
		headers: headers{byKey: map[slotKey]int{}},
		roster: roster{
			byID: map[[16]byte]uint32{}, rest: -1, most: c.MaxClasses, room: c.Room, maxText: c.MaxSample,
		},
		origins: newOrigins(),
		spill:   new(spill),
	}
}

// Add counts an entry that p parsed; p may be nil when the entry has no attributes beyond those that slowlog.Known
// knows. file is the number of its log, in time order from 0: the same for all Aggregators that are to be merged.
// Nothing of e is kept; the rows of an administrator command become 0. It does not allocate but for what is new.
func (a *Aggregator) Add(p *slowlog.Parser, e *slowlog.Entry, file int) {
	if !a.wanted(p, e) {
		return
	}
	if e.Admin {
		noRows(e.Figures)
	}
	r := &a.row
	r.layout = a.headers.layoutOf(p, e.Figures)
	r.at, r.n, r.errno, r.killed = e.At, uint64(max(e.Rate, 1)), e.Errno, e.Killed
	r.origin = a.origins.of(e)
	if a.base == 0 {
		a.base = r.at
	}
	l := a.headers.layout(r.layout)
	if r.packed = r.layout != loose && a.packer.packFigures(r, l, e.Figures, a.base); !r.packed {
		r.read(l, e.Figures)
	}
	i, counted := a.find(e, r), false
	if i < severalClasses {
		counted = a.addTo(i, e, r, file)
	} else {
		for _, i := range a.many[i-severalClasses] {
			if a.addTo(i, e, r, file) {
				counted = true
			}
		}
	}
	switch {
	case !counted:
		a.filtered++
	case r.n > 1:
		a.rated = true
		fallthrough
	default:
		a.entries++
	}
	a.skipOdd(file, e.Offset)
}

// skipOdd counts as skipped what was left out of entries for want of room.
func (a *Aggregator) skipOdd(file int, offset int64) {
	if a.spill.left > 0 {
		a.spill.left = 0
		a.Skip(file, slowlog.Skip{
			Offset: offset, Reason: "figures that are neither counts nor times are left out: there are too many",
		})
	}
}

// wanted reports whether an entry is to be counted at all, and counts it if it is not.
func (a *Aggregator) wanted(p *slowlog.Parser, e *slowlog.Entry) bool {
	c := &a.config
	if c.LeaveOwn && len(e.SQL) > 0 && (e.SQL[0] == '/' || e.SQL[0] <= ' ') && !e.Admin && sqltext.Own(e.SQL) {
		a.own++
		return false
	}
	if !c.Chosen(p, e) {
		a.filtered++
		return false
	}
	return true
}

// addTo counts a row for a class and reports whether the class takes more.
func (a *Aggregator) addTo(i uint32, e *slowlog.Entry, r *row, file int) bool {
	if a.config.Sample > 0 && a.roster.entriesOf(i) >= a.config.Sample {
		return false
	}
	in, pos := &a.roster.intakes[i], position{file, e.Offset}
	if in.n == 0 || pos.before(in.first()) {
		in.setFirst(pos)
	}
	a.count(i, r)
	draw := pos.draw()
	if draw < in.bar || r.time >= in.slowest {
		a.sample(i, e, pos, r, draw)
	}
	return true
}

func (l *roster) entriesOf(i uint32) uint64 {
	n := uint64(l.intakes[i].rows)
	if s := l.classes[i].sum; s != nil {
		n += s.entries
	}
	return n
}

// count counts a row's figures for a class: from the packer, or from r when they are not packed.
func (a *Aggregator) count(i uint32, r *row) {
	in := &a.roster.intakes[i]
	in.n += r.n
	if in.rows == maxRows || !r.packed {
		a.flush(i)
	}
	if !r.packed {
		a.roster.classes[i].sum.add(r, a.headers.layout(r.layout), a.steps())
		return
	}
	in.list = append(in.list, a.packer.row()...)
	in.rows++
}

// flush counts a class's list in its summary, making one.
func (a *Aggregator) flush(i uint32) {
	c, in := a.roster.classes[i], &a.roster.intakes[i]
	if c.sum == nil {
		c.sum = a.newSummary()
	}
	a.replay(i, c.sum)
	in.list, in.rows = in.list[:0], 0
	if a.summaries > manySummaries {
		in.list = nil
	}
}

// With so many summaries, less is kept of each. Sketches take most of their room: with more than maxSummaries, further
// ones have the distribution of Query_time only.
//
// An entry may have a hundred figures, and what no list takes is counted in a summary at once: maxDistributions bounds
// what all summaries keep, maxOdd their sums of figures that are no whole numbers, which take a kilobyte each.
const (
	manySummaries    = 1 << 12
	maxSummaries     = 1 << 14
	maxDistributions = 400_000
	maxOdd           = 50_000
)

func (a *Aggregator) newSummary() *summary {
	a.summaries++
	s := &summary{spill: a.spill}
	switch {
	case a.summaries == manySummaries:
		for _, c := range a.roster.classes {
			if c.sum != nil {
				c.sum.minutes.keep(fewSteps)
			}
		}
	case a.summaries > maxSummaries:
		s.only = math.MaxInt
		if i := slotIn(digest.Order{}, a); i >= 0 {
			s.only = a.headers.slots[i].index + 1
		}
	}
	return s
}

// replay counts the rows of a class's list in s.
func (a *Aggregator) replay(i uint32, s *summary) {
	r, m, steps := &a.replayed, &a.matrix, a.steps()
	for list := a.roster.intakes[i].list; len(list) > 0; {
		list = a.next(list, r)
		l := &a.headers.layouts[r.layout]
		if r.n != 1 {
			s.add(r, l, steps)
			continue
		}
		s.addEntry(r, l, steps)
		for _, c := range r.cells {
			if at := &l.places[c.place]; at.kind == flag {
				s.flag(int(at.index), 1)
			} else {
				m.put(int(at.index), c.value)
			}
		}
	}
	for k := range m.counts {
		if values := m.take(k); len(values) > 0 {
			s.addValues(k, values)
		}
	}
}

// matrix collects the values of a list by column, at most maxRows each.
type matrix struct {
	values []uint64
	counts []int
}

func (m *matrix) put(column int, v uint64) {
	for len(m.counts) <= column {
		m.counts = append(m.counts, 0)
		m.values = append(m.values, make([]uint64, maxRows)...)
	}
	m.values[column*maxRows+m.counts[column]] = v
	m.counts[column]++
}

// take returns the values of a column, which has none from then on.
func (m *matrix) take(column int) []uint64 {
	n := m.counts[column]
	m.counts[column] = 0
	return m.values[column*maxRows:][:n]
}

// steps bounds the per-minute counts of a class.
func (a *Aggregator) steps() int {
	if a.summaries >= manySummaries {
		return fewSteps
	}
	return manySteps
}

// severalClasses is added to the number of a list of classes in Aggregator.many.
const severalClasses = 1 << 31

// find returns the class of an entry, making it, or severalClasses and the number of a list of them.
func (a *Aggregator) find(e *slowlog.Entry, r *row) uint32 {
	if a.config.GroupBy >= digest.ByDatabase {
		return a.findByOrigin(r.origin)
	}
	sql := e.SQL
	if e.Admin {
		return a.findAdmin(sql)
	}
	key, ok := a.keyer.Key(sql)
	if ok {
		if i := a.keys.get(key); i > 0 {
			return i - 1
		}
	}
	i := a.findByText(sql)
	if ok {
		a.keys.put(key, i+1)
	}
	return i
}

// command is an administrator command that was met, with its class.
type command struct {
	name  string
	class uint32
}

func (a *Aggregator) findAdmin(name []byte) uint32 {
	for i := range a.commands {
		if a.commands[i].name == string(name) {
			return a.commands[i].class
		}
	}
	i := a.findByText(append([]byte(adminMark[2:]), name...))
	if len(a.commands) < 64 {
		a.commands = append(a.commands, command{string(name), i})
	}
	return i
}

// findByText returns the class, or classes, of a statement.
func (a *Aggregator) findByText(sql []byte) uint32 {
	switch a.config.GroupBy {
	case digest.ByItem:
		return a.roster.class([]byte(mytext.Item(string(sql))))
	case digest.ByTables:
		names := mytext.TableNames(sql)
		switch len(names) {
		case 0:
			return a.roster.class([]byte("(no table)"))
		case 1:
			return a.roster.class([]byte(names[0]))
		}
		return several(a, names)
	default:
		a.scratch = mytext.AppendFingerprint(a.scratch[:0], sql)
		return a.roster.class(a.scratch)
	}
}

// several returns the number of the list of classes with those names.
func several(a *Aggregator, names []string) uint32 {
	list := make([]uint32, len(names))
	for i, name := range names {
		list[i] = a.roster.class([]byte(name))
	}
search:
	for i, have := range a.many {
		if len(have) != len(list) {
			continue
		}
		for j := range have {
			if have[j] != list[j] {
				continue search
			}
		}
		return severalClasses + uint32(i)
	}
	a.many = append(a.many, list)
	return severalClasses + uint32(len(a.many)-1)
}

func (a *Aggregator) findByOrigin(origin uint32) uint32 {
	for int(origin) >= len(a.byOrigin) {
		a.byOrigin = append(a.byOrigin, 0)
	}
	if i := a.byOrigin[origin]; i > 0 {
		return i - 1
	}
	o := &a.origins.list[origin]
	text := o.db
	switch a.config.GroupBy {
	case digest.ByUser:
		text = o.user
	case digest.ByHost:
		text = o.host
	default: // by database
	}
	i := a.roster.class([]byte(text))
	a.byOrigin[origin] = i + 1
	return i
}

// Bounds of what is kept of fingerprints: each, and each once all of them take maxPrints.
const (
	maxPrint  = 16 << 10
	maxPrints = 32 << 20
	minPrint  = 1 << 10
)

// class returns the number of the class with that fingerprint or other value, making it.
func (l *roster) class(text []byte) uint32 {
	return l.classOf(hashOf(text), text)
}

func (l *roster) classOf(id [16]byte, text []byte) uint32 {
	if i, ok := l.byID[id]; ok {
		return i
	}
	full := len(l.classes) >= l.most || l.room != nil && *l.room <= 0 && len(l.classes) >= leastClasses
	if full && l.rest >= 0 {
		return uint32(l.rest)
	}
	if full {
		text = []byte(othersName)
		id = hashOf(text)
		l.rest = len(l.classes)
	}
	most := maxPrint
	if l.prints > maxPrints {
		most = minPrint
	}
	if len(text) > most {
		text = whole8(text[:most])
	}
	if l.room != nil {
		*l.room--
	}
	l.prints += len(text)
	c := &class{id: id, text: strings.ToValidUTF8(string(text), "\uFFFD")}
	l.classes = append(l.classes, c)
	l.intakes = append(l.intakes, intake{})
	i := uint32(len(l.classes) - 1)
	l.byID[id] = i
	if len(l.classes) > tiers[l.tier].classes {
		l.tier++
		l.trim()
	}
	l.setBar(i, tiers[l.tier].drawn)
	return i
}

// Skip counts a part of a log that could not be read. s.File does not matter.
func (a *Aggregator) Skip(file int, s slowlog.Skip) {
	a.skips.n++
	a.skips.bytes += s.Length
	a.skips.keep(skip{position{file, s.Offset}, s.Length, s.Reason})
}

// Entries returns how many entries were counted so far.
func (a *Aggregator) Entries() uint64 { return a.entries }
