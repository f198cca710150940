package report

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// DigestOptions says what stands around a digest. The zero value is a digest of statements by fingerprint without a
// line about who made it and when.
type DigestOptions struct {
	At      time.Time // when the report was made; zero leaves it out
	Host    string    // machine that made it
	User    time.Duration
	System  time.Duration // CPU time it took, and the memory below in bytes; zero leaves them out
	RSS     uint64
	Virtual uint64
	Dyno    string // version of the program

	GroupBy string // what classes are of: "" and "fingerprint" are the same
	OrderBy string // what they are ordered by, as --order-by has it; "" is the sum of query_time
	// Redact tells that no literal of a statement may be written: samples are redacted here, if they are not yet, and
	// what else may hold one, such as a plan's condition, is left out.
	Redact bool
	// Classes gives the classes one after the other in place of the report's, the same ones however often it is asked,
	// so that very many need not be held at once; nil = Report.Classes.
	Classes iter.Seq[digest.Row]
}

// classes are what there is to write, by their place, ready to be written.
func (o DigestOptions) classes(r *digest.Report) iter.Seq2[int, digest.Row] {
	all := o.Classes
	if all == nil {
		all = slices.Values(r.Classes)
	}
	return func(yield func(int, digest.Row) bool) {
		i := 0
		for k := range all {
			if !yield(i, digestCleanClass(k, o, r.Dialect)) {
				return
			}
			i++
		}
	}
}

func (o DigestOptions) fingerprints() bool { return o.GroupBy == "" || o.GroupBy == "fingerprint" }

// digestSkips is how many skipped parts a report for people lists; the JSON has up to digest.MaxSkips.
const digestSkips = 10

// digestLine is one attribute of a table of figures.
type digestLine struct {
	attribute.Info
	f digest.Figures
}

// digestOrder are the attributes that come first; the others follow by name.
var digestOrder = [...]string{
	"query_time", "cpu_time", "lock_time", "rows_sent", "rows_examined", "rows_affected", "rows_read",
	"bytes_sent", "merge_passes",
	"tmp_tables", "tmp_disk_tables", "tmp_table_sizes", "query_length",
}

// digestLines returns the attributes in the order of the report: those of statements as such, then group by group.
func digestLines(m map[string]digest.Figures) (out []digestLine) {
	for key, f := range m {
		if f.Count > 0 {
			out = append(out, digestLine{describedAs(f.Info, key), f})
		}
	}
	rank := func(l digestLine) int {
		if i := slices.Index(digestOrder[:], l.Key); i >= 0 {
			return i
		}
		return len(digestOrder)
	}
	slices.SortFunc(out, func(a, b digestLine) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// describedAs is what an attribute is, guessed by its key where a report does not say.
func describedAs(i attribute.Info, key string) attribute.Info {
	if i.Label == "" {
		return attribute.Of(key, nil)
	}
	i.Key = key
	return i
}

// clipPlain cuts s to n characters, without a mark.
func clipPlain(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// digestFlag is one flag of a table of figures.
type digestFlag struct {
	attribute.Info
	s digest.Share
}

// digestFlags returns the flags that were set at least once, by name.
func digestFlags(m map[string]digest.Share) (out []digestFlag) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		s := m[key]
		if s.Yes == 0 {
			continue
		}
		out = append(out, digestFlag{describedAs(s.Info, key), s})
	}
	return out
}

// write writes a value of the line.
func (l digestLine) write(v float64) string {
	if l.Unit == attribute.Seconds {
		return digestTime(v)
	}
	return digestAmount(v, 1024)
}

// cells are the figures of the line: total, min, max, avg, 95%, stddev, median.
func (l digestLine) cells(unknown string, write func(float64) string) []string {
	f := l.f
	all := []known.Value[float64]{known.Of(f.Sum), f.Min, f.Max, f.Mean(), f.P95, f.Stddev, f.Median}
	return each(all, func(v known.Value[float64]) string { return told(v, unknown, write) })
}

// digestHeads name the cells.
var digestHeads = [...]string{"total", "min", "max", "avg", "95%", "stddev", "median"}

// digestSum returns the sum of query_time over a table of figures.
func digestSum(m map[string]digest.Figures) known.Value[float64] {
	if f, ok := m["query_time"]; ok && f.Count > 0 {
		return known.Of(f.Sum)
	}
	return known.None[float64]()
}

// digestClean returns a report that can be written: numbers are finite, and with Redact no plan holds a literal. The
// classes are copied; what they refer to is shared where it need not change.
func digestClean(r *digest.Report, o DigestOptions) *digest.Report {
	c := *r
	c.Classes = nil // see digestCleanClass: one at a time, for there may be very many
	c = clamped(c)
	if c.Global.Attributes == nil {
		c.Global.Attributes = map[string]digest.Figures{}
	}
	return &c
}

// digestCleanClass is digestClean for one class.
func digestCleanClass(k digest.Row, o DigestOptions, d digest.Dialect) digest.Row {
	figures := finiteFigures(k.Attributes) // most of a class, and hardly ever in need of a copy
	k.Attributes = nil
	k = clamped(k)
	k.Attributes = figures
	if o.Redact {
		k.Plan = redactedPlan(k.Plan)
		for _, s := range []*digest.Sample{k.Worst, k.Typical} {
			switch {
			case s == nil:
			case d == nil:
				s.SQL = "?" // what of it is a literal is not known
			default:
				s.SQL = d.Redact(s.SQL)
			}
		}
	}
	return k
}

// RedactDigest takes the literals out of a report that somebody else wrote, as Redact does of one that is rendered.
func RedactDigest(r *digest.Report) {
	for i := range r.Classes {
		r.Classes[i] = digestCleanClass(r.Classes[i], DigestOptions{Redact: true}, r.Dialect)
	}
}

func finiteFigures(m map[string]digest.Figures) map[string]digest.Figures {
	good := func(f digest.Figures) bool {
		s := f.Sum + f.Avg
		for _, v := range [...]known.Value[float64]{f.Share, f.Min, f.Max, f.P95, f.Stddev, f.Median} {
			s += v.Or(0) // looks for numbers that are none
		}
		return !math.IsNaN(s) && !math.IsInf(s, 0)
	}
	out := m
	if out == nil {
		out = map[string]digest.Figures{}
	}
	copied := false
	for key, f := range m {
		if good(f) {
			continue
		}
		if !copied {
			out, copied = maps.Clone(m), true
		}
		out[key] = clamped(f)
	}
	return out
}

// planNames are what a server calls tables that a plan makes itself; nothing of a statement is in them.
var planNames = lazyregexp.New(`<(?:derived|subquery|union|auto_key|IN_REF)[0-9,]*>`)

// redactedPlan keeps the lines of a plan that cannot hold a literal: those of its table form. Conditions, which the
// JSON and tree forms write, have quotes or an operator.
func redactedPlan(lines []string) []string {
	var out []string
	lost := false
	for _, l := range lines {
		if strings.ContainsAny(planNames.ReplaceAllString(l, ""), "'\"=<>{}[]?@") {
			lost = true
			continue
		}
		out = append(out, l)
	}
	if lost {
		out = append(out, "(lines that may hold literals are left out)")
	}
	return out
}

// digestNotes are the remarks on the figures, one a line.
func digestNotes(r *digest.Report) (out []string) {
	g := r.Global
	if g.Entries > 0 && g.Entries != g.Count {
		out = append(out, "Rate limits apply: "+digestCount(g.Entries)+" logged statements stand for "+
			digestCount(g.Count))
	}
	if g.Filtered > 0 {
		out = append(out, "Filtered: "+digestCount(g.Filtered)+" statements left out")
	}
	if g.Own > 0 {
		out = append(out, "Own: "+digestCount(g.Own)+" statements of Dyno left out")
	}
	for _, n := range g.Notes {
		out = append(out, "Note: "+n)
	}
	return out
}

// digestSkipped tells what could not be read: a sentence, and the first parts.
func digestSkipped(r *digest.Report) (head string, parts []string) {
	if r.Global.Skipped == 0 {
		return "", nil
	}
	head = "Skipped: " + count(r.Global.Skipped, "part", "parts") + " that could not be read"
	if n := r.Global.SkippedBytes; n > 0 {
		head += ", " + count(n, "byte", "bytes")
	}
	for i, s := range r.Skipped {
		if i == digestSkips {
			break
		}
		at := "byte " + digestCount(uint64(max(0, s.Offset))) + ", length " + digestCount(uint64(max(0, s.Length)))
		switch {
		case s.File != "" && s.Offset == 0 && s.Length == 0: // all of it
			at = s.File
		case s.File != "":
			at = s.File + " " + at
		}
		parts = append(parts, at+": "+s.Reason)
	}
	if n := r.Global.Skipped - uint64(len(parts)); n > 0 && n < r.Global.Skipped {
		parts = append(parts, "and "+digestCount(n)+" more")
	}
	return head, parts
}
