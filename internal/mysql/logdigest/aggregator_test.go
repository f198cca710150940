package logdigest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/internal/attribute"
	queryclass "github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

// input is a log of n entries with everything that an Aggregator looks at: a few big classes and many small ones,
// several layouts, zeros, flags, rates, errors, many origins, equal times and a clock that goes back.
func input(seed uint64, n int) []slowlog.Entry {
	r := rand.New(rand.NewPCG(seed, 1))
	headers := [][]slowlog.Attribute{
		{slowlog.QueryTime, slowlog.LockTime, slowlog.RowsSent, slowlog.RowsExamined, slowlog.QueryLength},
		{
			slowlog.QueryTime, slowlog.LockTime, slowlog.RowsSent, slowlog.RowsExamined, slowlog.FullScan,
			slowlog.TmpTable, slowlog.BytesSent, slowlog.QueryLength,
		},
		{
			slowlog.QueryTime, slowlog.FullScan, slowlog.LockTime, slowlog.InnoDBIOReadOps, slowlog.InnoDBIOReadWait,
			slowlog.RowsExamined, slowlog.QueryLength,
		},
		{slowlog.QueryLength},
	}
	entries := make([]slowlog.Entry, n)
	offset := int64(0)
	at := int64(1_700_000_000_000_000)
	for i := range entries {
		e := &entries[i]
		k := int(math.Pow(200, r.Float64())) - 1
		e.SQL = fmt.Appendf(nil, "select %s from %s where id = %d", word(k), word(k/3), r.IntN(1e6))
		if k == 5 {
			e.SQL, e.Admin = []byte("Quit"), true
		}
		e.Offset, e.Length = offset, int64(100+len(e.SQL))
		offset += e.Length
		at += int64(r.ExpFloat64() * 4e6)
		if r.IntN(20) > 0 {
			e.At = at - int64(r.IntN(3))*17e6
		}
		e.User, e.Host, e.DB = []byte(word(r.IntN(3))), fmt.Appendf(nil, "10.0.0.%d", r.IntN(1+k)), []byte(word(k%4))
		e.Thread, e.HasID, e.Rate = uint64(r.IntN(50)), true, 1
		if r.IntN(30) == 0 {
			e.Rate = uint32(1 + r.IntN(10))
		}
		if r.IntN(50) == 0 {
			e.Errno, e.Killed = uint32(1064+r.IntN(3)), uint32(r.IntN(2))
		}
		for _, x := range headers[min(r.IntN(20)/6, 3)] {
			info, _ := slowlog.Known(x)
			v := 0.0
			switch {
			case x == slowlog.QueryTime:
				v = math.Round(math.Exp(r.NormFloat64()*float64(1+k%3)-5)*1e6) / 1e6
			case x == slowlog.QueryLength:
				v = float64(len(e.SQL))
			case r.IntN(3) == 0:
			case info.Unit == attribute.Seconds:
				v = float64(r.IntN(1000)) / 1e6
			case info.Unit == attribute.Flag:
				v = float64(r.IntN(2))
			default:
				v = math.Floor(math.Exp(r.ExpFloat64() * 3))
			}
			e.Figures = append(e.Figures, slowlog.Figure{Attribute: x, Value: v})
		}
	}
	return entries
}

func word(k int) string {
	return string(rune('a'+k/26%26)) + string(rune('a'+k%26))
}

func aggregate(c Config, entries []slowlog.Entry) *Aggregator {
	a := New(c)
	for i := range entries {
		a.Add(nil, &entries[i], 0)
	}
	return a
}

// truth is what a class holds, by the book.
type model struct {
	values map[string][]float64 // one for every statement
	yes    map[string]uint64
	no     map[string]uint64
	n      uint64
	users  map[string]uint64
	errors map[string]uint64
	first  int64
	last   int64
}

// classIDs returns the id of every entry's class.
func classIDs(entries []slowlog.Entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		sql := string(e.SQL)
		if e.Admin {
			sql = "administrator command: " + sql
		}
		ids[i] = queryclass.ID(mytext.Fingerprint(sql))
	}
	return ids
}

func modelOf(entries []slowlog.Entry) (all *model, classes map[string]*model) {
	ids := classIDs(entries)
	empty := func() *model {
		return &model{
			values: map[string][]float64{}, yes: map[string]uint64{}, no: map[string]uint64{},
			users: map[string]uint64{}, errors: map[string]uint64{},
		}
	}
	all, classes = empty(), map[string]*model{}
	for i, e := range entries {
		id := ids[i]
		if classes[id] == nil {
			classes[id] = empty()
		}
		for _, m := range []*model{all, classes[id]} {
			m.n += uint64(e.Rate)
			m.users[string(e.User)] += uint64(e.Rate)
			if e.Errno != 0 {
				m.errors[fmt.Sprint(e.Errno)] += uint64(e.Rate)
			}
			if e.At != 0 {
				if m.first == 0 || e.At < m.first {
					m.first = e.At
				}
				m.last = max(m.last, e.At)
			}
			for _, f := range e.Figures {
				info, _ := slowlog.Known(f.Attribute)
				if e.Admin && len(info.Key) > 5 && info.Key[:5] == "rows_" {
					f.Value = 0 // what is left of the statement before
				}
				for range e.Rate {
					switch {
					case info.Unit != attribute.Flag:
						m.values[info.Key] = append(m.values[info.Key], f.Value)
					case f.Value != 0:
						m.yes[info.Key]++
					default:
						m.no[info.Key]++
					}
				}
			}
		}
	}
	return all, classes
}

// close9 reports whether two figures are the same but for rounding.
func close9(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

func (m *model) check(t *testing.T, what string, n uint64, figures map[string]digest.Figures,
	flags map[string]digest.Share, exact bool,
) {
	t.Helper()
	if n != m.n {
		t.Errorf("%s: %d statements, want %d", what, n, m.n)
	}
	if len(figures) != len(m.values) {
		t.Errorf("%s: %d attributes, want %d", what, len(figures), len(m.values))
	}
	for key, xs := range m.values {
		f := figures[key]
		slices.Sort(xs)
		sum, squares := 0.0, 0.0
		for _, x := range xs {
			sum += x
		}
		mean := sum / float64(len(xs))
		for _, x := range xs {
			squares += (x - mean) * (x - mean)
		}
		stddev := 0.0
		if len(xs) > 1 {
			stddev = math.Sqrt(squares / float64(len(xs)-1))
		}
		k := len(xs) / 2
		median := xs[k]
		if len(xs)%2 == 0 {
			median = (xs[k-1] + xs[k]) / 2
		}
		p95 := xs[digest.Rank95(uint64(len(xs)))-1]
		if f.Count != uint64(len(xs)) || !close9(f.Sum, sum) || f.Min.Or(-1) != xs[0] ||
			f.Max.Or(-1) != xs[len(xs)-1] || !close9(f.Avg, mean) {
			t.Errorf("%s: %s: got %+v; want count %d sum %v min %v max %v", what, key, f, len(xs),
				sum, xs[0], xs[len(xs)-1])
		}
		if d := f.Stddev.Or(-1); math.Abs(d-stddev) > 1e-7*max(stddev, mean) {
			t.Errorf("%s: %s: stddev %v, want %v", what, key, d, stddev)
		}
		off := 0.01
		if exact {
			off = 1e-9
		}
		if v := f.Median.Or(-1); math.Abs(v-median) > off*median {
			t.Errorf("%s: %s: median %v, want %v", what, key, v, median)
		}
		if v := f.P95.Or(-1); math.Abs(v-p95) > off*p95 {
			t.Errorf("%s: %s: p95 %v, want %v", what, key, v, p95)
		}
	}
	for key, f := range flags {
		if f.Yes != m.yes[key] || f.No != m.no[key] || f.Info.Label == "" {
			t.Errorf("%s: %s: %+v, want %d yes and %d no", what, key, f, m.yes[key], m.no[key])
		}
	}
	for key := range m.yes {
		if _, ok := flags[key]; !ok {
			t.Errorf("%s: %s is missing", what, key)
		}
	}
}

func TestReportEqualsTheBook(t *testing.T) {
	for _, n := range []int{1, 2, 40, 700, 20_000} {
		entries := input(uint64(n), n)
		all, classes := modelOf(entries)
		byID := map[string][]slowlog.Entry{}
		for i, id := range classIDs(entries) {
			byID[id] = append(byID[id], entries[i])
		}
		r := aggregate(Config{}, entries).Report(digest.Options{})
		all.check(t, "all", r.Global.Count, r.Global.Attributes, r.Global.Flags, n <= maxRows)
		if r.Global.Entries != uint64(n) || r.Global.Classes != len(classes) || len(r.Classes) != len(classes) {
			t.Errorf("%d entries and %d, %d classes; want %d and %d", r.Global.Entries, r.Global.Classes,
				len(r.Classes), n, len(classes))
		}
		share, last := 0.0, math.Inf(1)
		for i, c := range r.Classes {
			m := classes[c.ID]
			if m == nil {
				t.Fatalf("class %s is not in the log", c.ID)
			}
			m.check(t, c.Fingerprint, c.Count, c.Attributes, c.Flags, false)
			if c.ID != queryclass.ID(c.Fingerprint) || c.Rank != i+1 {
				t.Errorf("class %d: id %s, rank %d", i, c.ID, c.Rank)
			}
			share += c.Share
			sum := c.Attributes["query_time"].Sum
			if sum > last {
				t.Errorf("class %d has more time than the one before", i)
			}
			last = sum
			checkTallies(t, c.Users, m.users)
			checkTallies(t, c.ErrorCodes, m.errors)
			if m.first != 0 && (c.FirstSeen.UnixMicro() != m.first || c.LastSeen.UnixMicro() != m.last) {
				t.Errorf("class %d: from %v to %v", i, c.FirstSeen, c.LastSeen)
			}
			checkMinutes(t, c, byID[c.ID])
			checkSamples(t, c, byID[c.ID])
		}
		if _, timed := all.values["query_time"]; timed && !close9(share, 1) {
			t.Errorf("shares add up to %v", share)
		}
	}
}

func checkTallies(t *testing.T, got []digest.Tally, want map[string]uint64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for i, x := range got {
		if x.Count != want[x.Name] || i > 0 && x.Count > got[i-1].Count {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// checkMinutes compares with the entries of the class.
func checkMinutes(t *testing.T, c digest.Row, of []slowlog.Entry) {
	want := map[int64]uint64{}
	total := 0.0
	for _, e := range of {
		if e.At != 0 {
			want[e.At/1e6/int64(c.PerMinute.StepSec)] += uint64(e.Rate)
			if e.Figures[0].Attribute == slowlog.QueryTime {
				total += e.Figures[0].Value * float64(e.Rate)
			}
		}
	}
	if len(c.PerMinute.Counts) > manySteps {
		t.Errorf("%d steps", len(c.PerMinute.Counts))
	}
	for i, n := range c.PerMinute.Counts {
		if w := want[c.PerMinute.Start.Unix()/int64(c.PerMinute.StepSec)+int64(i)]; n != w {
			t.Errorf("class %d: step %d has %d statements, want %d", c.Rank, i, n, w)
		}
		total -= c.PerMinute.QuerySec[i]
	}
	if math.Abs(total) > 1e-6 {
		t.Errorf("class %d: time per minute is %v off", c.Rank, total)
	}
}

func checkSamples(t *testing.T, c digest.Row, of []slowlog.Entry) {
	var worst slowlog.Entry
	worstTime := -1.0
	for _, e := range of {
		v := 0.0
		if e.Figures[0].Attribute == slowlog.QueryTime {
			v = e.Figures[0].Value
		}
		if v > worstTime {
			worst, worstTime = e, v
		}
	}
	if c.Worst == nil || c.Worst.Offset != worst.Offset || c.Worst.Cut ||
		!bytes.HasSuffix([]byte(c.Worst.SQL), worst.SQL) ||
		c.Worst.User != string(worst.User) || c.Worst.Thread != worst.Thread || !close9(c.Worst.QuerySec, worstTime) {
		t.Errorf("class %d: worst is %+v, want %+v", c.Rank, c.Worst, worst)
	}
	if c.Typical != nil && (c.Typical.Offset == c.Worst.Offset || !slices.ContainsFunc(of, func(e slowlog.Entry) bool {
		return e.Offset == c.Typical.Offset
	})) {
		t.Errorf("class %d: typical is %+v", c.Rank, c.Typical)
	}
	if c.Typical == nil && len(of) > 1 && len(of) < 5 {
		t.Errorf("class %d of %d entries has no typical sample", c.Rank, len(of))
	}
}

func asJSON(t *testing.T, r digest.Report) string {
	t.Helper()
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMergeOfPartsIsTheWhole deals entries out to workers at random and merges them in any order.
func TestMergeOfPartsIsTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{3, 60, 64, 65, 130, 900, 8000} {
		entries := input(uint64(n)+77, n)
		want := asJSON(t, aggregate(Config{}, entries).Report(digest.Options{}))
		for _, workers := range []int{1, 2, 5} {
			parts := make([]*Aggregator, workers)
			for i := range parts {
				parts[i] = New(Config{})
			}
			for i := range entries {
				parts[r.IntN(workers)].Add(nil, &entries[i], 0)
			}
			merged := New(Config{})
			for _, i := range r.Perm(workers) {
				merged.Merge(parts[i])
			}
			if diff := cmp.Diff(want, asJSON(t, merged.Report(digest.Options{}))); diff != "" {
				t.Fatalf("%d entries by %d workers:\n%s", n, workers, diff)
			}
			taken := New(Config{})
			for _, i := range r.Perm(workers) {
				taken.Take(parts[i])
				if parts[i].Entries() != 0 || len(parts[i].Report(digest.Options{}).Classes) != 0 {
					t.Fatal("something is left of what was taken")
				}
			}
			if diff := cmp.Diff(want, asJSON(t, taken.Report(digest.Options{}))); diff != "" {
				t.Fatalf("%d entries taken from %d workers:\n%s", n, workers, diff)
			}
		}
	}
}

func TestAddAllocatesNothingWhenWarm(t *testing.T) {
	entries := input(5, 5000)
	a := aggregate(Config{}, entries)
	for range maxRows { // every class has its summary, and counters for all of its values
		for i := range entries {
			a.Add(nil, &entries[i], 0)
		}
	}
	n := testing.AllocsPerRun(3, func() {
		for i := range entries {
			a.Add(nil, &entries[i], 0)
		}
	})
	if n > float64(len(entries))/100 { // a list may still grow by some bytes
		t.Errorf("%v allocations for %d entries", n, len(entries))
	}
}
