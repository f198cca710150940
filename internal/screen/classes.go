package screen

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

var classOrders = []order[state.ActiveClass]{
	{"load", func(a, b state.ActiveClass) int { return cmp.Compare(b.Load, a.Load) }},
	{"calls/s", func(a, b state.ActiveClass) int { return cmp.Compare(b.PerSecond, a.PerSecond) }},
	{"mean", most(func(c state.ActiveClass) known.Value[float64] { return c.MeanSec })},
	{"examined", most(func(c state.ActiveClass) known.Value[float64] { return c.Examined })},
	{"errors/s", most(func(c state.ActiveClass) known.Value[float64] { return c.Errors })},
}

// classes returns the table of the classes of the last seconds, at most limit of them.
func classes(s *state.State, by order[state.ActiveClass], filter string, width, limit int) []row {
	list := make([]state.ActiveClass, 0, len(s.Classes))
	total := 0.0
	for _, c := range s.Classes {
		total += c.Load
		if fits(filter, c.ID, c.Fingerprint, c.Schema) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, by.cmp)
	title := line{{"classes ", strong}}
	if s.ClassSeconds > 0 && len(s.Classes) > 0 {
		title = title.add(dim, "of the last "+seconds(s.ClassSeconds)+", load "+strconv.FormatFloat(total, 'f', 2, 64))
	}
	rows := []row{heading(title)}
	if len(list) == 0 {
		return append(rows, heading(as(dim, noClasses(s, filter))))
	}
	t := newTable([]column{
		{"class", 16, false, 79},
		{"load", 6, true, 0},
		{"share", 6, true, 0},
		{"calls/s", 8, true, 0},
		{"mean", 8, true, 0},
		{"examined", 9, true, 95},
		{"errors/s", 9, true, 110},
		{"database", 10, false, 120},
		{"fingerprint", 0, false, 0},
	}, width)
	rows = append(rows, heading(t.head(by.name)))
	for i, c := range list {
		if i == limit {
			rows = append(rows, heading(as(dim, "… "+strconv.Itoa(len(list)-limit)+" more")))
			break
		}
		share := span{none, dim}
		if total > 0 {
			share = span{unit.Percent(c.Load / total), plain}
		}
		calls, mean, examined := unit.Count(c.PerSecond), shown(c.MeanSec, unit.Seconds), shown(c.Examined, unit.Count)
		if c.Sampled { // seen by looking: there were more, and none was over
			calls = "≥" + calls
			if c.Examined.OK() {
				examined = "≥" + examined
			}
		}
		rows = append(rows, row{t.row(
			span{clean(class.ShortID(c.ID)), dim}, span{strconv.FormatFloat(c.Load, 'f', 2, 64), plain}, share,
			span{calls, plain}, span{mean, plain},
			span{examined, plain}, errorsOf(c), span{clean(c.Schema), plain}, span{squeeze(head(c.Fingerprint)), plain},
		), ref{aClass, c.Schema + "\x00" + c.ID, ""}})
	}
	return rows
}

// noClasses says why there are none.
func noClasses(s *state.State, filter string) string {
	if s.ClassSeconds > 0 { // they were looked for, with whatever source there is; PostgreSQL has only one
		var only []source.Name
		if isPostgres(s) {
			only = []source.Name{source.Digests}
		}
		return nothingHere(s, filter, "no statement in the last "+seconds(s.ClassSeconds), only...)
	}
	return nothingHere(s, filter, "the first window is not complete yet", source.Digests)
}

func errorsOf(c state.ActiveClass) span {
	v, ok := c.Errors.Get()
	switch {
	case !ok:
		return span{none, dim}
	case v > 0:
		return span{unit.Count(v), warn}
	}
	return span{"0", dim}
}
