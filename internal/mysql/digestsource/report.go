package digestsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/source"
)

// What Global.Source says of a live window.
const (
	fromDigests = "performance_schema"
	fromLog     = string(source.SlowLog)
	fromSamples = string(source.Processlist)
)

// attributes tells which figure of a report each column is.
var attributes = []struct {
	column int
	info   attribute.Info
	flag   bool
}{
	{cTime, infoOf(slowlog.QueryTime), false},
	{cLock, infoOf(slowlog.LockTime), false},
	{cCPU, infoOf(slowlog.CPUTime), false},
	{cSent, infoOf(slowlog.RowsSent), false},
	{cExamined, infoOf(slowlog.RowsExamined), false},
	{cAffected, infoOf(slowlog.RowsAffected), false},
	{cTmp, infoOf(slowlog.TmpTables), false},
	{cTmpDisk, infoOf(slowlog.TmpDiskTables), false},
	{cSortRows, infoOf(slowlog.SortRows), false},
	{cSortMerge, infoOf(slowlog.SortMergePasses), false},
	{cSortRange, infoOf(slowlog.SortRangeCount), false},
	{cSortScan, infoOf(slowlog.SortScanCount), false},
	{cErrors, infoOf(slowlog.Errors), false},
	{cWarnings, infoOf(slowlog.Warnings), false},
	{cScan, attribute.Info{Name: "Select_scan", Key: "select_scan", Label: "Full scans", Unit: attribute.Count}, false},
	{cFullJoin, attribute.Info{
		Name: "Select_full_join", Key: "select_full_join", Label: "Full joins",
		Unit: attribute.Count,
	}, false},
	{cFullRangeJoin, attribute.Info{
		Name: "Select_full_range_join", Key: "select_full_range_join", Label: "Range joins",
		Unit: attribute.Count,
	}, false},
	{cRange, attribute.Info{Name: "Select_range", Key: "select_range", Label: "Ranges", Unit: attribute.Count}, false},
	{cRangeCheck, attribute.Info{
		Name: "Select_range_check", Key: "select_range_check", Label: "Range checks",
		Unit: attribute.Count,
	}, false},
	{cNoIndex, attribute.Info{
		Name: "No_index_used", Key: "no_index_used", Label: "No index",
		Unit: attribute.Flag,
	}, true},
	{cNoGoodIndex, attribute.Info{
		Name: "No_good_index_used", Key: "no_good_index_used", Label: "No good ind",
		Unit: attribute.Flag,
	}, true},
}

func infoOf(a slowlog.Attribute) attribute.Info {
	i, _ := slowlog.Known(a)
	return i
}

var queryTime = infoOf(slowlog.QueryTime).Key

// ReportOptions change what a Report shows. The zero value shows all.
type ReportOptions struct {
	Redact  bool         // samples have lost their literals
	Limit   digest.Limit // classes that are shown; the zero value shows all
	OrderBy digest.Order // the zero value is the sum of query times
}

// Report closes the window as End does and returns what was seen as a report: all classes, most time first, those of
// one fingerprint as one whatever their default database. The reader must have been opened with Detail.
//
// What a source does not tell of a window is unknown: of all figures but the times the digests have sums only, so that
// just the average is known, and everything where a class was executed once. FirstSeen and LastSeen of a class lie in
// the window. On MySQL 8.0 fingerprints and ids are of the statements as they were written, elsewhere of their digests.
// Users and hosts are those that were seen in the processlist, with how often.
func (r *Reader) Report(ctx context.Context, o ReportOptions) (digest.Report, []source.Source, error) {
	if !r.o.Detail {
		return digest.Report{}, nil, errors.New("report query classes: the reader was opened without detail")
	}
	ctx, cancel := context.WithTimeout(ctx, 4*r.o.Timeout)
	defer cancel()
	r.lock()
	defer r.unlock()
	w, err := r.end(ctx)
	if err != nil {
		return digest.Report{}, nil, err
	}
	b := builder{r: r, o: o, w: w, sec: w.to.Sub(w.from).Seconds(), seen: map[string][]*sampled{}}
	for _, s := range w.seen {
		k := class.Key(s.Fingerprint)
		b.seen[k] = append(b.seen[k], s)
	}
	var from string
	switch {
	case w.digestsOK:
		from = fromDigests
		b.digests(ctx)
	case w.log != nil && r.log.whole:
		from = fromLog
		b.logged(w.log.report())
	default:
		from = fromSamples
		if r.state[source.Samples].State == source.OK {
			b.note(fmt.Sprintf("figures are estimated from %d samples of the processlist, %v apart: short and rare "+
				"statements are missed", r.samples.looks, r.o.Interval))
		}
	}
	b.samples(from)
	rep := b.finish()
	rep.Global.Source, rep.Global.Target = from, r.t.Spec().Name
	rep.Global.Began, rep.Global.Ended = w.from.UTC(), w.to.UTC()
	for i := range rep.Classes {
		within(&rep.Classes[i], rep.Global.Began, rep.Global.Ended)
	}
	digest.Arrange(&rep, o.Limit, o.OrderBy)
	return rep, sourcesOf(r.state), nil
}

// within holds the times of a class to the window: a server counts digests since long before it.
func within(c *digest.Row, from, to time.Time) {
	if c.FirstSeen.Before(from) || c.FirstSeen.After(to) {
		c.FirstSeen = from
	}
	if c.LastSeen.After(to) || c.LastSeen.Before(c.FirstSeen) {
		c.LastSeen = to
	}
}

// builder makes a report of a window.
type builder struct {
	r     *Reader
	o     ReportOptions
	w     windowed
	sec   float64               // length of the window
	seen  map[string][]*sampled // by key
	list  []*digest.Row
	base  *digest.Report // what finish begins with; nil = nothing
	all   *steps         // the distribution of all times; nil when unknown
	own   uint64
	notes []string
}

func (b *builder) note(s string) {
	if s != "" && !slices.Contains(b.notes, s) {
		b.notes = append(b.notes, s)
	}
}

// digests makes the classes of what performance_schema counted.
func (b *builder) digests(ctx context.Context) {
	r, g := b.r, b.w.counted
	b.own = g.own
	slices.SortFunc(g.rows, func(x, y growth) int {
		return cmp.Or(cmp.Compare(y.row.v[cTime], x.row.v[cTime]), strings.Compare(x.digest, y.digest),
			strings.Compare(x.schema, y.schema))
	})
	dist := r.times.window(ctx, g.rows)
	overall := r.times.overall(ctx)
	stopped, notes := r.killed.window(ctx, g.from, g.to, g.kills)

	rows := map[string][]growth{}
	var ids []string
	var total uint64
	for _, x := range g.rows {
		if rows[x.id] == nil {
			ids = append(ids, x.id)
		}
		rows[x.id] = append(rows[x.id], x)
		total += x.row.v[cCount]
	}
	without := 0
	whole := r.times.ok()
	if whole {
		b.all = r.times.steps()
	}
	for _, id := range ids {
		c, d := b.counted(rows[id], dist)
		for _, x := range rows[id] {
			c.Killed += stopped[x.digestKey]
		}
		if d != nil && whole {
			b.all.add(d)
		}
		if d == nil && c.Count > 1 {
			without++
			whole = false
		}
		b.list = append(b.list, c)
	}
	switch {
	case whole:
	case overall != nil && total > 0 && g.own*200 <= total: // Dyno's own are among them, too few to matter
		b.all = overall
	default:
		b.all = nil
	}
	for _, n := range append(g.notes, notes...) {
		b.note(n)
	}
	b.note(g.fix)
	switch {
	case !r.times.ok():
		b.note("this server does not report how times are distributed: median, 95 % and stddev are unknown, except " +
			"for classes of one statement")
	case without > 0:
		b.note(fmt.Sprintf("times are distributed as the server's histograms say, whose steps are 4.7 %% wide; %d "+
			"classes were too many, or not busy enough before the window, for theirs to be read: median, 95 %% and "+
			"stddev are unknown there", without))
	default:
		b.note("times are distributed as the server's histograms say, whose steps are 4.7 % wide")
	}
}

// counted makes the class of the rows of one fingerprint. The distribution is nil when it is not known of all of them.
func (b *builder) counted(rows []growth, dist map[digestKey]*steps) (*digest.Row, *steps) {
	d := b.r.digests
	c := &digest.Row{
		ID: rows[0].id, Fingerprint: rows[0].fingerprint, Attributes: map[string]digest.Figures{},
		Flags: map[string]digest.Share{},
	}
	var sums [columns]uint64
	spread := b.r.times.steps()
	bases := map[string]uint64{}
	longest, shortest := rows[0], rows[0]
	for _, x := range rows {
		for i := range cMax {
			sums[i] += x.row.v[i]
		}
		if x.row.v[cMax] > longest.row.v[cMax] {
			longest = x
		}
		if x.row.v[cMin] < shortest.row.v[cMin] {
			shortest = x
		}
		if s := dist[x.digestKey]; s == nil || x.mixed {
			spread = nil
		} else if spread != nil {
			spread.add(s)
		}
		if x.schema != "" {
			bases[x.schema] += x.row.v[cCount]
		}
		if t := moment(x.row.first); c.FirstSeen.IsZero() || !t.IsZero() && t.Before(c.FirstSeen) {
			c.FirstSeen = t
		}
		if t := moment(x.row.last); t.After(c.LastSeen) {
			c.LastSeen = t
		}
		c.Truncated = c.Truncated || x.cut
		if s := b.sample(x); s != nil && (c.Worst == nil || b.older(c.Worst) && !b.older(s) ||
			b.older(c.Worst) == b.older(s) && s.QuerySec > c.Worst.QuerySec) {
			c.Worst = s
		}
	}
	c.Count, c.Databases = sums[cCount], tallies(bases)
	for _, a := range attributes {
		if !d.have[a.column] || a.column == cCPU && !d.cpu {
			continue
		}
		if a.flag {
			yes := min(sums[a.column], c.Count)
			c.Flags[a.info.Key] = digest.Share{Info: a.info, Yes: yes, No: c.Count - yes}
			continue
		}
		sum := float64(sums[a.column])
		if a.info.Unit == attribute.Seconds {
			sum *= picosecond
		}
		c.Attributes[a.info.Key] = summed(a.info, c.Count, sum)
	}
	if spread != nil && spread.count() == 0 {
		spread = nil
	}
	f := c.Attributes[queryTime]
	if c.Count > 1 {
		var low, high known.Value[float64]
		if d.have[cMax] {
			high = known.Of(float64(longest.row.v[cMax]) * picosecond)
		}
		if d.have[cMin] {
			low = known.Of(float64(shortest.row.v[cMin]) * picosecond)
		}
		distribute(&f, spread, low, shortest.shorter, high, longest.longer)
		c.Attributes[queryTime] = f
	}
	if spread != nil {
		c.Histogram = spread.decades()
	} else if c.Count == 1 {
		c.Histogram[decade(f.Sum)] = 1
	}
	return c, spread
}

// decade is the place of a time in digest.Row.Histogram.
func decade(sec float64) int {
	d := 0
	for limit := 10e-6; d < 7 && sec >= limit; limit *= 10 {
		d++
	}
	return d
}

func summed(i attribute.Info, n uint64, sum float64) digest.Figures {
	return digest.OfSum(i, n, sum)
}

// distribute adds what is known of the distribution of times. low and high hold since the server counts, and for the
// window when lowNow and highNow say so; otherwise the ends of the steps, which are at most one step away, are the
// closest that is known.
func distribute(f *digest.Figures, s *steps, low known.Value[float64], lowNow bool,
	high known.Value[float64], highNow bool,
) {
	from, isFrom := low.Get()
	to, isTo := high.Get()
	if isFrom && lowNow {
		f.Min = low
	}
	if isTo && highNow {
		f.Max = high
	}
	if s == nil {
		return
	}
	first, last := s.ends()
	if !f.Min.OK() {
		f.Min = known.Of(max(first, from))
	}
	if !f.Max.OK() {
		if isTo {
			last = min(last, to)
		}
		f.Max = known.Of(last)
	}
	within := func(v float64) known.Value[float64] {
		return known.Of(min(max(v, f.Min.Or(v)), f.Max.Or(v)))
	}
	f.Median, f.P95, f.Stddev = within(s.quantile(0.5)), within(s.quantile(0.95)), known.Of(s.stddev())
}

// sample returns the statement that the server kept of a digest.
func (b *builder) sample(x growth) *digest.Sample {
	if b.r.o.NoExamples || x.row.sample == "" || x.execute {
		return nil
	}
	s := &digest.Sample{Time: moment(x.row.seen), QuerySec: float64(x.row.v[cSampleTime]) * picosecond, DB: x.schema}
	s.SQL, s.Cut = strings.CutSuffix(x.row.sample, "...")
	b.withhold(s)
	return s
}

// older reports whether a sample is of before the window: it is shown, with its time, when there is none of the window
// itself.
func (b *builder) older(s *digest.Sample) bool { return s.Time.Before(b.w.counted.from.server) }

func (b *builder) withhold(s *digest.Sample) {
	if s.SQL = mytext.WithoutSecrets(s.SQL); b.o.Redact {
		s.SQL = redacted(s.SQL)
	}
}

// logged takes the report of a slow log that holds everything.
func (b *builder) logged(rep digest.Report) {
	b.base = &rep
	for i := range rep.Classes {
		c := &rep.Classes[i]
		for _, s := range []**digest.Sample{&c.Worst, &c.Typical} {
			switch {
			case *s == nil:
			case b.r.o.NoExamples:
				*s = nil
			default:
				b.withhold(*s)
			}
		}
		b.list = append(b.list, c)
	}
	g := &rep.Global
	g.Own, g.Filtered = g.Own+g.Filtered, 0 // nothing is filtered but Dyno's statements
	b.own = g.Own
	for _, n := range g.Notes {
		b.note(n)
	}
	b.note(b.r.state[source.SlowLog].Reason)
}

// class turns a class into one of a report.
func (b *builder) class(x class.Class) *digest.Row {
	c := &digest.Row{
		ID: x.ID, Fingerprint: x.Fingerprint, Sampled: x.Sampled, Count: x.Count,
		FirstSeen: x.FirstSeen.UTC(), LastSeen: x.LastSeen.UTC(), Attributes: map[string]digest.Figures{},
	}
	f := summed(infoOf(slowlog.QueryTime), x.Count, x.TimeSec)
	if x.Sampled {
		f.Avg, f.Estimated = 0, true // long statements are seen more often than short ones
		f.Min, f.P95, f.Median, f.Stddev = known.None[float64](), known.None[float64](),
			known.None[float64](), known.None[float64]()
	} else if x.P95Sec.OK() {
		f.P95 = x.P95Sec
	}
	if x.MaxSec.OK() {
		f.Max = x.MaxSec
	}
	c.Attributes[queryTime] = f
	seconds := func(a slowlog.Attribute, v known.Value[float64]) {
		if s, ok := v.Get(); ok {
			i := infoOf(a)
			c.Attributes[i.Key] = summed(i, x.Count, s)
		}
	}
	count := func(a slowlog.Attribute, v known.Value[uint64]) {
		if n, ok := v.Get(); ok {
			i := infoOf(a)
			c.Attributes[i.Key] = summed(i, x.Count, float64(n))
		}
	}
	seconds(slowlog.LockTime, x.LockSec)
	seconds(slowlog.CPUTime, x.CPUSec)
	count(slowlog.RowsSent, x.RowsSent)
	count(slowlog.RowsExamined, x.Examined)
	count(slowlog.RowsAffected, x.Affected)
	count(slowlog.SortRows, x.SortRows)
	count(slowlog.TmpTables, x.TmpTables)
	count(slowlog.TmpDiskTables, x.TmpDisk)
	count(slowlog.Errors, x.Errors)
	if x.Schema != "" && x.Count > 0 {
		c.Databases = []digest.Tally{{Name: x.Schema, Count: x.Count}}
	}
	if x.Example != "" && !b.r.o.NoExamples {
		c.Worst = &digest.Sample{SQL: x.Example, QuerySec: x.MaxSec.Or(0), DB: x.Schema, Time: x.LastSeen.UTC()}
		b.withhold(c.Worst)
	}
	return c
}

// join adds a class of the same fingerprint in another default database.
func join(m, c *digest.Row) {
	for k, f := range c.Attributes {
		if x, ok := m.Attributes[k]; ok {
			f = joined(x, f)
		}
		m.Attributes[k] = f // where one part alone knows it, the count tells of how many
	}
	m.Sampled = m.Sampled || c.Sampled
	m.Count += c.Count
	m.Running += c.Running
	m.Killed += c.Killed
	bases := map[string]uint64{}
	for _, t := range append(m.Databases, c.Databases...) {
		bases[t.Name] += t.Count
	}
	m.Databases = tallies(bases)
	if m.FirstSeen.IsZero() || !c.FirstSeen.IsZero() && c.FirstSeen.Before(m.FirstSeen) {
		m.FirstSeen = c.FirstSeen
	}
	if c.LastSeen.After(m.LastSeen) {
		m.LastSeen = c.LastSeen
	}
	if m.Worst == nil || c.Worst != nil && c.Worst.QuerySec > m.Worst.QuerySec {
		m.Worst = c.Worst
	}
}

// joined sums two figures up; quantiles do not add.
func joined(a, b digest.Figures) digest.Figures {
	if a.Count == 0 || b.Count == 0 {
		out := a
		if a.Count == 0 {
			out = b
		}
		out.Sum, out.Estimated = a.Sum+b.Sum, a.Estimated || b.Estimated
		if out.Estimated {
			out.Avg = 0
		}
		return out
	}
	out := digest.Figures{
		Info: a.Info, Count: a.Count + b.Count, Sum: a.Sum + b.Sum,
		Estimated: a.Estimated || b.Estimated,
	}
	if !out.Estimated {
		out.Avg = out.Sum / float64(out.Count)
	}
	either := func(x, y known.Value[float64], pick func(...float64) float64) known.Value[float64] {
		v, ok1 := x.Get()
		u, ok2 := y.Get()
		if !ok1 || !ok2 {
			return known.None[float64]()
		}
		return known.Of(pick(v, u))
	}
	out.Min = either(a.Min, b.Min, func(v ...float64) float64 { return min(v[0], v[1]) })
	out.Max = either(a.Max, b.Max, func(v ...float64) float64 { return max(v[0], v[1]) })
	return out
}

// samples adds what only the processlist tells: the classes that the exact source has not, what still runs, users,
// hosts and examples.
func (b *builder) samples(from string) {
	have, exact := map[string]*digest.Row{}, map[string]bool{}
	for _, c := range b.list {
		have[class.Key(c.Fingerprint)], exact[class.Key(c.Fingerprint)] = c, true
	}
	missed := uint64(0)
	if from == fromDigests {
		missed = b.w.counted.missed
	}
	running := uint64(0)
	for _, s := range b.w.seen {
		running += s.running
		k := class.Key(s.Fingerprint)
		x, also := s.Class, true
		if from != fromSamples {
			x, also = s.missing(exact[k], missed)
		}
		if also {
			x.Count -= min(x.Count, s.running)
			c := b.class(x)
			c.Running, c.Killed = s.running, s.killed
			if m := have[k]; m != nil { // of another default database, or prepared where the text was counted
				join(m, c)
			} else {
				have[k] = c
				b.list = append(b.list, c)
			}
		} else if c := have[k]; c != nil {
			c.Running += s.running
			c.Killed = max(c.Killed, s.killed)
		}
	}
	for _, c := range b.list {
		b.adorn(c)
	}
	if running > 0 && from != fromSamples {
		b.note(fmt.Sprintf("still running when the window ended: %d, which count when they complete", running))
	}
	if from == fromDigests {
		for _, l := range b.w.logged { // of a log that does not hold everything, too
			if c := have[class.Key(l.Fingerprint)]; c != nil && c.Worst == nil {
				c.Worst = b.class(l).Worst
			}
		}
	}
}

// adorn adds users, hosts and an example from the processlist.
func (b *builder) adorn(c *digest.Row) {
	users, hosts := map[string]uint64{}, map[string]uint64{}
	var worst *sampled
	for _, s := range b.seen[class.Key(c.Fingerprint)] {
		for w, n := range s.users {
			users[w] += n
		}
		for w, n := range s.hosts {
			hosts[w] += n
		}
		if s.Example != "" && (worst == nil || s.worst.age > worst.worst.age) {
			worst = s
		}
	}
	if len(c.Users)+len(c.Hosts) == 0 {
		c.Users, c.Hosts = tallies(users), tallies(hosts)
	}
	if worst == nil || b.r.o.NoExamples {
		return
	}
	e := worst.worst
	sec := e.age
	if m, ok := c.Attributes[queryTime].Max.Get(); ok && !c.Sampled {
		sec = min(sec, m) // some servers tell the age in whole seconds only
	}
	if c.Worst != nil && c.Worst.QuerySec >= sec && !c.Sampled && !b.older(c.Worst) {
		return
	}
	c.Worst = &digest.Sample{
		SQL: e.text, Cut: len(e.text) >= maxText, Time: e.at.UTC(), QuerySec: sec,
		DB: worst.Schema, User: e.user, Host: e.host, Thread: e.id,
	}
	b.withhold(c.Worst)
}

// tallies sorts counts, the most first.
func tallies(m map[string]uint64) (list []digest.Tally) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, digest.Tally{Name: k, Count: m[k]})
	}
	slices.SortStableFunc(list, func(a, b digest.Tally) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// finish sums the classes up, puts them in order and works out what follows from the length of the window.
func (b *builder) finish() digest.Report {
	g := digest.Global{Attributes: map[string]digest.Figures{}, Flags: map[string]digest.Share{}}
	sampled := 0.0 // time that g does not hold
	if b.base != nil {
		g = b.base.Global
	}
	g.Classes, g.Own = len(b.list), b.own
	for _, c := range b.list {
		if b.base != nil {
			if c.Sampled {
				sampled += c.Attributes[queryTime].Sum
			}
			continue
		}
		g.Count += c.Count
		for k, f := range c.Attributes {
			if x, ok := g.Attributes[k]; ok {
				f = joined(x, f)
			}
			g.Attributes[k] = f
		}
		for k, f := range c.Flags {
			x := g.Flags[k]
			g.Flags[k] = digest.Share{Info: f.Info, Yes: x.Yes + f.Yes, No: x.No + f.No}
		}
	}
	if b.base == nil {
		g.Entries = g.Count
	}
	if f, ok := g.Attributes[queryTime]; ok && b.all != nil && b.all.count() > 0 {
		distribute(&f, b.all, f.Min, f.Min.OK(), f.Max, f.Max.OK())
		g.Attributes[queryTime] = f
	}
	if len(g.Flags) == 0 {
		g.Flags = nil
	}
	total := g.Attributes[queryTime].Sum
	if b.sec > 0 {
		g.QPS, g.Concurrency = known.Of(float64(g.Count)/b.sec), known.Of(total/b.sec)
	}
	if total > 0 {
		for k, f := range g.Attributes {
			if f.Sum > 0 {
				f.Share = known.Of(1.0)
				g.Attributes[k] = f
			}
		}
	}
	slices.SortFunc(b.list, func(x, y *digest.Row) int {
		return cmp.Or(cmp.Compare(y.Attributes[queryTime].Sum, x.Attributes[queryTime].Sum),
			cmp.Compare(y.Count, x.Count), strings.Compare(x.ID, y.ID))
	})
	rep := digest.Report{
		Version: digest.Version, Dialect: mytext.Dialect{}, Classes: []digest.Row{}, Skipped: []digest.Skip{},
	}
	if b.base != nil && b.base.Skipped != nil {
		rep.Skipped = b.base.Skipped
	}
	for i, c := range b.list {
		c.Rank = i + 1
		t := c.Attributes[queryTime]
		if total+sampled > 0 {
			c.Share = t.Sum / (total + sampled)
		}
		for k, f := range c.Attributes {
			all := g.Attributes[k].Sum
			if k == queryTime {
				all += sampled
			}
			if all > 0 {
				f.Share = known.Of(f.Sum / all)
				c.Attributes[k] = f
			}
		}
		if len(c.Flags) == 0 {
			c.Flags = nil
		}
		if b.sec > 0 {
			c.QPS, c.Concurrency = known.Of(float64(c.Count)/b.sec), known.Of(t.Sum/b.sec)
		}
		if s, ok := t.Stddev.Get(); ok && t.Avg > 0 {
			c.VarianceToMean = known.Of(s * s / t.Avg)
		}
		if c.Item == "" {
			c.Item, c.Tables = item(c)
		}
		rep.Classes = append(rep.Classes, *c)
	}
	for _, x := range sourcesOf(b.r.state) {
		if x.State != source.OK && (x.Name == source.Digests || x.Name == source.Samples) {
			b.note(strings.ReplaceAll(string(x.Name), "_", " ") + ": " + strings.TrimSuffix(x.Reason+"; "+x.Fix, "; "))
		}
	}
	g.Notes = b.notes
	rep.Global = g
	return rep
}

// redacted takes the literals out of a statement.
func redacted(sql string) string { return mytext.Redacted(sql) }

// item returns the short form of a class and the tables it touches: of a whole statement where there is one, for a
// fingerprint has lost the digits of names.
func item(c *digest.Row) (short string, tables []string) {
	sql := c.Fingerprint
	if w := c.Worst; w != nil && !w.Cut && w.SQL != "" {
		sql = w.SQL
	}
	return mytext.Item(sql), mytext.TableNames([]byte(sql))
}
