package index

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// evidence lists what was measured: the class's rows, the server's scans, its share of the time, the plan, and whether
// CPU or disks were what it cost.
func evidence(v *advise.View, g group) (ev []finding.Evidence) {
	for i, x := range g.scans {
		ev = append(ev, rowsEvidence(v, x)...)
		if i == 0 {
			if x.keyed.touched > 0 || x.rule == indexScan {
				ev = append(ev, nextEvidence(v)...)
			} else {
				ev = append(ev, scanEvidence(v)...)
			}
		}
		share := x.c.TimeSec / v.Total
		text := fmt.Sprintf("It took %s of %s statement time, %s.", unit.Seconds(x.c.TimeSec),
			unit.Seconds(v.Total), unit.Percent(share))
		if x.c.Sampled {
			text = fmt.Sprintf("It took about %s of %s statement time, %s, estimated from samples.",
				unit.Seconds(x.c.TimeSec), unit.Seconds(v.Total), unit.Percent(share))
		}
		ev = append(ev, finding.Evidence{
			What: "share of statement time", Value: known.Of(share * 100), Unit: "%",
			Source: x.c.Source(), Sampled: x.c.Sampled, Text: text,
		})
		ev = append(ev, planEvidence(x))
	}
	return append(ev, loadEvidence(v)...)
}

func rowsEvidence(v *advise.View, x scan) (ev []finding.Evidence) {
	if k := x.keyed; k.touched > 0 && k.from != x.c.Source() {
		text := fmt.Sprintf("A call reads about %s by the plan", entries(x))
		if k.from == source.Catalog {
			text = fmt.Sprintf("A call reads about %s by the indexes' statistics", entries(x))
		}
		expected := ""
		if n, ok := k.wanted.Get(); ok {
			text += fmt.Sprintf(", and needs %s", unit.Count(n))
			expected = fmt.Sprintf("≤ %s", unit.Count(minRatio*max(1, n)))
		}
		ev = append(ev, finding.Evidence{
			What: "index entries read per call", Value: known.Of(tidy(k.touched)),
			Unit: "entries", Expected: expected, Source: k.from, Sampled: true, Text: text + ".",
		})
	}
	if k := x.keyed; k.pages {
		text, expected := fmt.Sprintf("Each call wanted %s pages of tables and indexes", unit.Count(k.touched)), ""
		if n, ok := k.wanted.Get(); ok {
			text += fmt.Sprintf(" and returned or changed %s rows", unit.Count(n))
			expected = fmt.Sprintf("≤ %s", unit.Count(minRatio*max(1, n)))
		}
		return append(ev, finding.Evidence{
			What: "pages wanted per call", Value: known.Of(k.touched), Unit: "pages", Expected: expected,
			Source: k.from, Text: fmt.Sprintf("%s, over %s calls.", text, unit.Count(float64(x.c.Count))),
		})
	}
	all, estimated := x.read()
	examined, ok := all.Get()
	if !ok {
		return ev
	}
	if estimated && !x.c.Examined.OK() {
		each := examined / float64(max(x.c.Count, 1))
		text := fmt.Sprintf("By the plan and the pages that were wanted each of %s calls reads %s of %s rows of %s; "+
			"the server does not count the rows that a class examines.", unit.Count(float64(x.c.Count)),
			unit.Count(each), unit.Count(x.rows), x.t.Ref)
		if n, ok := useful(x).Get(); ok {
			text += fmt.Sprintf(" It counted %s rows returned or changed", unit.Count(float64(n)))
			if pages, ok := x.c.PerCall(x.c.Pages).Get(); ok {
				text += fmt.Sprintf(" and %s pages wanted per call", unit.Count(pages))
			}
			text += "."
		}
		return append(ev, finding.Evidence{
			What: "rows read per call, by the plan", Value: known.Of(each), Unit: "rows", Source: source.Plan,
			Sampled: true, Text: text,
		})
	}
	if estimated {
		return append(ev, finding.Evidence{
			What: "rows read into the join buffer per call", Value: known.Of(x.step.Rows), Unit: "rows",
			Source: source.Plan, Sampled: true,
			Text: fmt.Sprintf("By the plan each of %s calls reads %s rows of %s to join them; this server counts %s "+
				"rows examined per call and leaves those out.",
				unit.Count(float64(x.c.Count)), unit.Count(x.step.Rows), x.t.Ref,
				unit.Count(float64(x.c.Examined.Or(0))/float64(max(x.c.Count, 1)))),
		})
	}
	what, least := "rows examined per second", ""
	if x.c.Sampled { // executions that were not seen are not in it
		what, least = what+", at least", "at least "
	}
	n, known1 := useful(x).Get()
	if x.c.Count > 0 && !x.c.Sampled && known1 && (x.keyed.touched == 0 || x.keyed.from == x.c.Source()) {
		verb := "returned"
		if x.kind != shape.Select {
			verb = "changed"
		}
		ratio := examined / float64(max(n, 1))
		ev = append(ev, finding.Evidence{
			What: "rows examined per row " + verb, Value: known.Of(ratio), Unit: "rows", Expected: fmt.Sprintf("≤ %d",
				minRatio), Source: x.c.Source(),
			Text: fmt.Sprintf("Each call examined %s rows and %s %s, over %s calls.",
				unit.Count(examined/float64(x.c.Count)), verb,
				unit.Count(float64(n)/float64(x.c.Count)), unit.Count(float64(x.c.Count))),
		})
	}
	text := fmt.Sprintf("The class examined %s%s", least, unit.Rate(examined/v.Window, "rows/s"))
	if known1 && !x.c.Sampled {
		verb := "returned"
		if x.kind != shape.Select {
			verb = "changed"
		}
		text += fmt.Sprintf(" and %s %s", verb, unit.Rate(float64(n)/v.Window, "rows/s"))
	}
	return append(ev, finding.Evidence{
		What: what, Value: known.Of(examined / v.Window), Unit: "1/s",
		Source: x.c.Source(), Text: text + ".",
	})
}

// nextEvidence tells what the server reads in the order of indexes, of which no counter of scans knows.
func nextEvidence(v *advise.View) (ev []finding.Evidence) {
	r := v.Rate(v.Dialect.Handlers.Of("read_next"))
	n, ok := r.Get()
	if !ok {
		return nil
	}
	text := fmt.Sprintf("All reads along indexes took %s (Handler_read_next)", unit.Rate(n, "rows/s"))
	if icp, ok := v.Rate(v.Dialect.Handlers.Of("icp_attempts")).Get(); ok && icp > 0 {
		text += fmt.Sprintf(", and %s more were checked in the index, of which %s met the condition "+
			"(Handler_icp_attempts, Handler_icp_match)", unit.Rate(icp, "entries/s"),
			unit.Rate(v.Rate(v.Dialect.Handlers.Of("icp_match")).Or(0), "entries/s"))
	}
	if rnd, ok := v.Rate(v.Dialect.Handlers.Of("read_rnd_next")).Get(); ok {
		text += fmt.Sprintf("; scans of tables read %s", unit.Rate(rnd, "rows/s"))
	}
	return []finding.Evidence{{
		What: "Handler_read_next per second", Value: r, Unit: "1/s",
		Source: source.GlobalStatus, Text: text + ".",
	}}
}

func scanEvidence(v *advise.View) (ev []finding.Evidence) {
	r := v.Rate(v.Dialect.Handlers.Of("read_rnd_next"))
	n, ok := r.Get()
	if !ok {
		return nil
	}
	text := fmt.Sprintf("All scans of the server read %s (Handler_read_rnd_next)", unit.Rate(n, "rows/s"))
	if s, ok := v.Rate(v.Dialect.RowsSent).Get(); ok {
		text += fmt.Sprintf("; it sent %s", unit.Rate(s, "rows/s"))
	}
	return []finding.Evidence{{
		What: "Handler_read_rnd_next per second", Value: r, Unit: "1/s",
		Source: source.GlobalStatus, Text: text + ".",
	}}
}

func planEvidence(x scan) finding.Evidence {
	if !x.plan {
		text := "There is no plan of it; "
		switch {
		case x.c.FullScans.Or(0) > 0:
			text += fmt.Sprintf("%s of %s executions scanned their first table.",
				unit.Count(float64(x.c.FullScans.Or(0))), unit.Count(float64(x.c.Count)))
		case x.c.NoIndex.Or(0) > 0:
			text += fmt.Sprintf("%s of %s executions used no index.", unit.Count(float64(x.c.NoIndex.Or(0))),
				unit.Count(float64(x.c.Count)))
		case x.c.FullJoins.Or(0) > 0:
			text += fmt.Sprintf("%s of %s executions joined without an index.",
				unit.Count(float64(x.c.FullJoins.Or(0))), unit.Count(float64(x.c.Count)))
		default:
			text += "that it scans is inferred from the server's counters."
		}
		return finding.Evidence{What: "plan", Source: x.c.Source(), Text: text}
	}
	how := "reads all rows"
	switch {
	case x.step.Access == "index":
		how = "reads all of the index " + x.step.Key
	case x.keyed.touched > 0:
		how = "reads by key " + x.step.Key
	}
	text := fmt.Sprintf("Plan: table %s, type %s: it %s, about %s", x.step.Table, x.step.Access, how,
		unit.Count(x.step.Rows))
	switch {
	case len(x.step.PossibleKeys) > 0:
		text += "; it could have used " + strings.Join(x.step.PossibleKeys, ", ")
	case !x.postgres(): // which does not tell what it weighed
		text += ", and no key could be used"
	}
	if len(x.step.Extra) > 0 {
		text += " (" + strings.Join(x.step.Extra, "; ") + ")"
	}
	return finding.Evidence{
		What: "plan", Value: known.Of(x.step.Rows), Unit: "rows", Source: source.Plan,
		Sampled: x.guess, Text: text + ".",
	}
}

// loadEvidence holds CPU against waiting for disks.
func loadEvidence(v *advise.View) (ev []finding.Evidence) {
	user, ok1 := v.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "user"}).Get()
	system, ok2 := v.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "system"}).Get()
	if ok1 && ok2 {
		text := fmt.Sprintf("The server's process used %.2f CPUs", user+system)
		if n, ok := v.Host.CPUs.Get(); ok {
			text += fmt.Sprintf(" of the %.3g that it may use", n)
		}
		ev = append(ev, finding.Evidence{
			What: "CPU used by the server", Value: known.Of(user + system), Unit: "CPUs",
			Source: source.Process, Text: text + ".",
		})
	}
	var wait, all float64
	for _, s := range v.Series {
		if mode := s.Labels.Get("mode"); s.Name == "node_cpu_seconds_total" && mode != "guest" && mode != "guest_nice" {
			if by, _, ok := s.Increase(); ok {
				all += by
				if mode == "iowait" {
					wait += by
				}
			}
		}
	}
	if all > 0 {
		text := fmt.Sprintf("The machine waited for its disks %s of its CPU time", unit.Percent(wait/all))
		if r, ok := v.Rate("dyno_server_io_read_bytes_total").Get(); ok {
			text += fmt.Sprintf("; the server read %s/s from storage", unit.Bytes(r))
		}
		ev = append(ev, finding.Evidence{
			What: "CPU time waiting for disks", Value: known.Of(wait / all * 100),
			Unit: "%", Source: source.Host, Text: text + ".",
		})
	}
	return ev
}

// against lists what speaks against the finding, honestly.
func against(v *advise.View, g group) (out []string) {
	say := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, x := range g.scans {
		if x.c.Sampled {
			say("The class was sampled, not counted: its share is an estimate.")
		}
		if x.guess && len(x.step.PossibleKeys) > 0 {
			say("The plan was made with typical values because the statement's own were unknown.")
		}
		if !x.match.OK() {
			switch {
			case x.shape.Folded:
				say("The statement aggregates, so the number of rows that match its conditions is unknown: when most " +
					"do, the index does not help.")
			case len(x.shape.Tables) > 1:
				say("The statement joins tables, so the number of matching rows of this one is unknown.")
			default:
				say("The number of matching rows was not counted: when most match, the index does not help.")
			}
		}
		if len(x.shape.Opaque) > 0 {
			say("Parts of the statement could not be parsed: " + strings.Join(x.shape.Opaque, "; ") + ".")
		}
		if n, ok := x.c.PerCall(x.c.Examined).Get(); ok && !x.c.Sampled && x.keyed.touched > 0 &&
			x.keyed.from != x.c.Source() {
			say(fmt.Sprintf("The server counted %s rows examined per call. Entries that are discarded within an "+
				"index are not among them, so an estimate is used.", unit.Count(n)))
		}
		if have, ok := leads(x.t, x.wish); ok && x.keyed.touched == 0 && x.rule != indexOrder {
			say(fmt.Sprintf("The index %s begins with one of the columns and is not used.", have.Name))
		}
		if x.inner && len(x.step.PossibleKeys) > 0 {
			say("The columns of the join may differ in type or character set, which keeps an index from being used.")
		}
	}
	if s, ok := v.Has(finding.IOWait, ""); ok {
		say("The server also waits for its disks (" + s.Title + ").")
	}
	return out
}
