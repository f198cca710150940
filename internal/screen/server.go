package screen

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// server returns everything that is known of the server and its machine as a whole: all figures, transactions, events,
// and under the heading status the engine's own words.
func server(s *state.State, events []event.Event, loc *time.Location, status string, width int) []row {
	var rows []row
	part := func(name string, fs []figure) {
		if len(rows) > 0 {
			rows = append(rows, row{})
		}
		rows = append(rows, heading(as(strong, name)))
		rows = append(rows, grid(s, fs, width)...)
	}
	part("work", slices.Concat([]figure{qps, latency}, activity, work))
	part("machine", machine)
	part("Dyno itself", price)
	rows = append(rows, row{})
	rows = append(rows, transactions(s, width)...)
	rows = append(rows, row{}, heading(as(strong, "events")))
	rows = append(rows, eventRows(events, s.At, loc, width)...)
	if s.EngineStatus != "" {
		rows = append(rows, row{}, heading(as(strong, status)))
		for _, l := range cleanLines(s.EngineStatus) {
			rows = append(rows, heading(text(cut(l, width))))
		}
	}
	return rows
}

// grid returns labelled figures in columns.
func grid(s *state.State, fs []figure, width int) []row {
	const cell = 32
	n := max(1, width/cell)
	fs = figures(s, fs)
	var rows []row
	for i := 0; i < len(fs); i += n {
		var l line
		for j, f := range fs[i:min(i+n, len(fs))] {
			v := f.of(s)
			x := line{{pad(f.label, 16), dim}, {padLeft(v.text, 12), v.role}}
			if j > 0 {
				l = l.add(plain, "    ")
			}
			l = append(l, x...)
		}
		rows = append(rows, heading(l.fit(width)))
	}
	return rows
}

// transactions returns the table of open transactions, the oldest first.
func transactions(s *state.State, width int) []row {
	rows := []row{heading(line{{"transactions ", strong}, {unit.Plural(len(s.Transactions), "open", "open"), dim}})}
	if len(s.Transactions) == 0 {
		return []row{heading(line{
			{"transactions ", strong},
			{nothingHere(s, "", "none is open", transactionsOf(s)), dim},
		})}
	}
	list := slices.Clone(s.Transactions)
	slices.SortStableFunc(list, func(a, b state.Transaction) int {
		switch {
		case a.Seconds > b.Seconds:
			return -1
		case a.Seconds < b.Seconds:
			return 1
		}
		return 0
	})
	t := newTable([]column{
		{"session", 8, true, 0},
		{"time", 9, true, 0},
		{"locked", 8, true, 0},
		{"modified", 9, true, 0},
		{"phase", 0, false, 0},
	}, width)
	rows = append(rows, heading(t.head("time")))
	for _, x := range list {
		id, session := none, ref{}
		if x.Session != 0 {
			id = strconv.FormatUint(x.Session, 10)
			session = ref{aSession, id, "trx" + x.ID}
		}
		r := plain
		if x.Seconds >= 60 {
			r = warn
		}
		phase := clean(x.Phase)
		if x.ReadOnly {
			phase += ", read only"
		}
		rows = append(rows, row{t.row(span{id, plain}, span{seconds(x.Seconds), r}, span{shown(x.Locks, count), plain},
			span{shown(x.Modified, count), plain}, span{phase, plain}), session})
	}
	return rows
}

// transactionsOf is the source of open transactions: PostgreSQL's are read with its sessions.
func transactionsOf(s *state.State) source.Name {
	if isPostgres(s) {
		return source.Processlist
	}
	return source.Transactions
}

// eventRows lists events, the newest first.
func eventRows(events []event.Event, now time.Time, loc *time.Location, width int) []row {
	if len(events) == 0 {
		return []row{heading(as(dim, "none in the last hour"))}
	}
	var rows []row
	for _, e := range slices.Backward(events) {
		rows = append(rows, heading(eventLine(e, now, loc).fit(width)))
	}
	return rows
}

// eventLine writes an event on one line.
func eventLine(e event.Event, now time.Time, loc *time.Location) line {
	l := line{{clock(e.At, now, loc), dim}}
	if !e.Until.IsZero() {
		l = l.add(dim, " for "+seconds(e.Until.Sub(e.At).Seconds()))
	}
	r := accent
	if slices.Contains([]event.Kind{event.Restart, event.Gap, event.Down}, e.Kind) {
		r = warn
	}
	return l.add(r, " "+clean(string(e.Kind))).add(plain, " "+squeeze(head(e.Text)))
}

// sources lists those that gave nothing, with why and what would mend it.
func sources(s *state.State, width int) []row {
	rows := []row{heading(as(strong, "unavailable data sources"))}
	for _, same := range alike(s.Sources) {
		x := same[0]
		var r role
		switch x.State {
		case source.Missing:
			r = dim
		case source.OK:
			r = plain
		default:
			r = bad
		}
		var names []string
		for _, y := range same {
			names = append(names, clean(string(y.Name)))
		}
		l := line{{pad(clean(string(x.State)), 8) + " ", r}, {strings.Join(names, ", "), strong}}
		rows = append(rows, row{l.fit(width), ref{aSource, string(x.Name), ""}})
		why := line{{"    ", plain}, {squeeze(x.Reason), plain}}
		if x.Fix != "" {
			if why.cells()+4+cells(squeeze(x.Fix)) > width {
				rows = append(rows, heading(why.fit(width)))
				why = line{{"    ", plain}}
			} else {
				why = why.add(plain, ": ")
			}
			why = why.add(accent, squeeze(x.Fix))
		}
		rows = append(rows, heading(why.fit(width)))
	}
	if len(rows) == 1 {
		rows = append(rows, heading(as(dim, nothingHere(s, "", "none: all sources are available"))))
	}
	return rows
}

// alike puts sources that give nothing for the same reason together: first those that should give something, then those
// that the server lacks, then those that only have a remark. One that is well and has nothing to say is left out.
func alike(all []source.Source) [][]source.Source {
	var out [][]source.Source
next:
	for _, x := range all {
		if x.State == source.OK && x.Reason == "" {
			continue
		}
		for i, same := range out {
			if y := same[0]; y.State == x.State && y.Reason == x.Reason && y.Fix == x.Fix {
				out[i] = append(same, x)
				continue next
			}
		}
		out = append(out, []source.Source{x})
	}
	rank := func(s source.State) int {
		switch s {
		case source.Missing:
			return 1
		case source.OK:
			return 2
		default:
			return 0
		}
	}
	slices.SortStableFunc(out, func(a, b []source.Source) int { return rank(a[0].State) - rank(b[0].State) })
	return out
}
