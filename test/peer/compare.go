package peer

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Options say in which points two reports may differ.
type Options struct {
	NoTimes bool // first and last of a class are not compared
}

// notFigures are what pt-query-digest sums up though the sums mean nothing. Dyno counts errors by code, and applies the
// rate.
var notFigures = []string{"errno", "last_errno", "killed", "log_slow_rate_limit", "thread_id"}

var digits = regexp.MustCompile(`\d+`)

// noRowsAffected are the items for which pt-query-digest leaves Rows_affected out.
var noRowsAffected = regexp.MustCompile(`^(?:SELECT|SHOW|SET|ADMIN)`)

// Compare returns every point in which Dyno's report of a log differs from pt-query-digest's: ids, fingerprints, items,
// counts, first and last, and sum, least, largest and average of every attribute of every class.
func Compare(ours Report, theirs PtReport, o Options) (d []string) {
	say := func(format string, args ...any) { d = append(d, fmt.Sprintf(format, args...)) }
	if ours.Global.Count != uint64(theirs.Global.Count) {
		say("%d statements, pt-query-digest has %v", ours.Global.Count, theirs.Global.Count)
	}
	if ours.Global.Unique != len(ours.Classes) {
		say("%d classes announced, %d listed", ours.Global.Unique, len(ours.Classes))
	}
	mine := map[string]Class{}
	for _, c := range ours.Classes {
		if _, twice := mine[c.ID]; twice {
			say("class %s is there twice", c.ID)
		}
		mine[c.ID] = c
	}
	for _, p := range theirs.Classes {
		c, ok := mine[p.Checksum]
		if !ok {
			say("no class %s, pt-query-digest has %v of %q", p.Checksum, p.Count, short(p.Fingerprint))
			continue
		}
		delete(mine, p.Checksum)
		for _, x := range class(c, p, o) {
			say("%s (%s): %s", c.ID, short(c.Fingerprint), x)
		}
	}
	for _, c := range mine {
		say("pt-query-digest has no class %s, %d of %q", c.ID, c.Count, short(c.Fingerprint))
	}
	slices.Sort(d)
	return d
}

func class(c Class, p PtClass, o Options) (d []string) {
	say := func(format string, args ...any) { d = append(d, fmt.Sprintf(format, args...)) }
	if c.Count != uint64(p.Count) {
		say("count %d, want %v", c.Count, p.Count)
	}
	if a, b := beginning(c.Fingerprint), beginning(bytesOf(p.Fingerprint)); a != b { // theirs ends after 5000 bytes
		say("fingerprint %q, want %q", short(a), short(b))
	}
	if a, b := digits.ReplaceAllString(c.Item, "?"), digits.ReplaceAllString(bytesOf(p.Distillate), "?"); a != b {
		// of a sample, and any of the slowest may be it
		say("item %q, want %q", c.Item, p.Distillate)
	}
	all := uint64(0)
	for _, n := range c.Histogram {
		all += n
	}
	if all != c.Count {
		say("the histogram holds %d of %d statements", all, c.Count)
	}
	if !o.NoTimes && p.First != "" {
		for _, x := range []struct {
			name string
			ours time.Time
			want string
		}{{"first", c.First, p.First}, {"last", c.Last, p.Last}} {
			if got := x.ours.UTC().Format(time.DateTime); got != strings.Replace(x.want[:min(len(x.want), len(got))],
				"T", " ", 1) {
				say("%s seen %s, want %s", x.name, got, x.want)
			}
		}
	}
	for name, m := range p.Metrics {
		key := keyOf(name)
		switch {
		case slices.Contains(notFigures, key):
		case m.Yes != nil:
			if got := c.Flags[key].Yes; got != uint64(*m.Yes) {
				say("%s is set in %d, want %v", name, got, *m.Yes)
			}
		case m.Sum != nil:
			f, ok := c.Attributes[key]
			if !ok {
				say("nothing about %s", name)
				continue
			}
			seconds := strings.HasSuffix(name, "_time") || strings.HasSuffix(name, "_wait")
			for _, x := range []struct {
				name string
				ours float64
				want *Number
			}{{"sum", f.Sum, m.Sum}, {"min", f.Min, m.Min}, {"max", f.Max, m.Max}, {"avg", f.Avg, m.Avg}} {
				if x.want != nil && !x.want.is(x.ours, seconds) {
					say("%s of %s is %v, want %v", x.name, name, x.ours, *x.want)
				}
			}
		}
	}
	for key, f := range c.Attributes {
		if f.Sum == 0 || slices.Contains(notFigures, key) || key == "rows_affected" &&
			noRowsAffected.MatchString(c.Item) {
			continue
		}
		found := false
		for name, m := range p.Metrics {
			found = found || keyOf(name) == key && m.Sum != nil
		}
		if !found {
			say("%s is %v, pt-query-digest has none", key, f.Sum)
		}
	}
	for key, f := range c.Flags {
		found := f.Yes == 0
		for name, m := range p.Metrics {
			found = found || keyOf(name) == key && m.Yes != nil
		}
		if !found {
			say("%s is set in %d, pt-query-digest has none", key, f.Yes)
		}
	}
	return d
}

// keyOf returns Dyno's key of an attribute: what MySQL and others name differently has one.
func keyOf(name string) string {
	switch key := strings.ToLower(name); key {
	case "created_tmp_tables":
		return "tmp_tables"
	case "created_tmp_disk_tables":
		return "tmp_disk_tables"
	default:
		return key
	}
}

// is tells whether a figure is the one that pt-query-digest printed: times with six digits, all else without its
// fraction.
func (n Number) is(v float64, seconds bool) bool {
	if seconds {
		return math.Abs(float64(n)-v) <= 1e-6+1e-9*math.Abs(v)
	}
	return v-float64(n) > -1e-6 && v-float64(n) < 1
}

// bytesOf undoes that pt-query-digest encodes every byte of a text as a character of its own.
func bytesOf(s string) string {
	var b []byte
	for _, r := range s {
		if r > 0xff {
			return s
		}
		b = append(b, byte(r))
	}
	return string(b)
}

func beginning(s string) string { return strings.ToValidUTF8(s[:min(len(s), 4000)], "") }

func short(s string) string { return s[:min(len(s), 120)] }
