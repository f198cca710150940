package index

import (
	"fmt"
	"slices"
	"strings"

	"dyno/internal/class"
	"dyno/internal/finding"
	"dyno/internal/known"
	"dyno/internal/metric"
	"dyno/internal/sqlshape"
	"dyno/internal/unit"
)

func sourceOf(c class.Class) string {
	switch c.Origin {
	case class.PerformanceSchema:
		return "digests"
	case class.Processlist:
		return "statement_samples"
	default:
		return string(c.Origin)
	}
}

// evidence lists what was measured: the class's rows, the server's scans, its share of the time, the plan, and whether CPU or
// disks were what it cost.
func evidence(v *View, g group) (ev []finding.Evidence) {
	for i, x := range g.scans {
		ev = append(ev, rowsEvidence(v, x)...)
		if i == 0 {
			ev = append(ev, scanEvidence(v)...)
		}
		share := x.c.TimeSec / v.Total
		text := fmt.Sprintf("It took %s of %s statement time, %s.", unit.Seconds(x.c.TimeSec), unit.Seconds(v.Total), unit.Percent(share))
		if x.c.Sampled {
			text = fmt.Sprintf("It took about %s of %s statement time, %s, by looking at what was running.", unit.Seconds(x.c.TimeSec), unit.Seconds(v.Total), unit.Percent(share))
		}
		ev = append(ev, finding.Evidence{What: "share of statement time", Value: known.Of(share * 100), Unit: "%", Source: sourceOf(x.c), Sampled: x.c.Sampled, Text: text})
		ev = append(ev, planEvidence(x))
	}
	return append(ev, loadEvidence(v)...)
}

func rowsEvidence(v *View, x scan) (ev []finding.Evidence) {
	e, ok := x.c.Examined.Get()
	if !ok {
		return nil
	}
	examined := float64(e)
	least := ""
	if x.c.Sampled {
		least = "at least "
	}
	n, known1 := useful(x).Get()
	if x.c.Count > 0 && !x.c.Sampled && known1 {
		verb := "returned"
		if x.shape.Kind != sqlshape.Select {
			verb = "changed"
		}
		ratio := examined / float64(max(n, 1))
		ev = append(ev, finding.Evidence{
			What: "rows examined per row " + verb, Value: known.Of(ratio), Unit: "rows", Expected: fmt.Sprintf("≤ %d", minRatio), Source: sourceOf(x.c),
			Text: fmt.Sprintf("Each call examined %s rows and %s %s, over %s calls.", unit.Count(examined/float64(x.c.Count)), verb,
				unit.Count(float64(n)/float64(x.c.Count)), unit.Count(float64(x.c.Count))),
		})
	}
	text := fmt.Sprintf("The class examined %s%s", least, unit.Rate(examined/v.Window, "rows/s"))
	if known1 && !x.c.Sampled {
		verb := "returned"
		if x.shape.Kind != sqlshape.Select {
			verb = "changed"
		}
		text += fmt.Sprintf(" and %s %s", verb, unit.Rate(float64(n)/v.Window, "rows/s"))
	}
	return append(ev, finding.Evidence{What: "rows examined per second", Value: known.Of(examined / v.Window), Unit: "1/s", Source: sourceOf(x.c), Sampled: x.c.Sampled, Text: text + "."})
}

func scanEvidence(v *View) (ev []finding.Evidence) {
	r := v.Rate("mysql_global_status_handler_read_rnd_next")
	n, ok := r.Get()
	if !ok {
		return nil
	}
	text := fmt.Sprintf("All scans of the server read %s (Handler_read_rnd_next)", unit.Rate(n, "rows/s"))
	if s, ok := v.Rate("mysql_global_status_rows_sent").Get(); ok {
		text += fmt.Sprintf("; it sent %s", unit.Rate(s, "rows/s"))
	}
	return []finding.Evidence{{What: "Handler_read_rnd_next per second", Value: r, Unit: "1/s", Source: "global_status", Text: text + "."}}
}

func planEvidence(x scan) finding.Evidence {
	if !x.plan {
		text := "There is no plan of it; "
		switch {
		case x.c.FullScans.Or(0) > 0:
			text += fmt.Sprintf("%s of %s executions scanned their first table.", unit.Count(float64(x.c.FullScans.Or(0))), unit.Count(float64(x.c.Count)))
		case x.c.NoIndex.Or(0) > 0:
			text += fmt.Sprintf("%s of %s executions used no index.", unit.Count(float64(x.c.NoIndex.Or(0))), unit.Count(float64(x.c.Count)))
		case x.c.FullJoins.Or(0) > 0:
			text += fmt.Sprintf("%s of %s executions joined without an index.", unit.Count(float64(x.c.FullJoins.Or(0))), unit.Count(float64(x.c.Count)))
		default:
			text += "that it scans is concluded from the server's counters."
		}
		return finding.Evidence{What: "plan", Source: sourceOf(x.c), Text: text}
	}
	how := "reads all rows"
	if x.step.Access == "index" {
		how = "reads all of the index " + x.step.Key
	}
	text := fmt.Sprintf("Plan: table %s, type %s: it %s, about %s", x.step.Table, x.step.Access, how, unit.Count(x.step.Rows))
	if len(x.step.PossibleKeys) == 0 {
		text += ", and no key could be used"
	} else {
		text += "; it could have used " + strings.Join(x.step.PossibleKeys, ", ")
	}
	if len(x.step.Extra) > 0 {
		text += " (" + strings.Join(x.step.Extra, "; ") + ")"
	}
	return finding.Evidence{What: "plan", Value: known.Of(x.step.Rows), Unit: "rows", Source: "plan", Sampled: x.guess, Text: text + "."}
}

// loadEvidence holds CPU against waiting for disks.
func loadEvidence(v *View) (ev []finding.Evidence) {
	user, ok1 := v.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "user"}).Get()
	system, ok2 := v.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "system"}).Get()
	if ok1 && ok2 {
		text := fmt.Sprintf("The server's process used %.2f CPUs", user+system)
		if n, ok := v.Host.CPUs.Get(); ok {
			text += fmt.Sprintf(" of the %.3g that it may use", n)
		}
		ev = append(ev, finding.Evidence{What: "CPU used by the server", Value: known.Of(user + system), Unit: "CPUs", Source: "process", Text: text + "."})
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
		ev = append(ev, finding.Evidence{What: "CPU time waiting for disks", Value: known.Of(wait / all * 100), Unit: "%", Source: "host", Text: text + "."})
	}
	return ev
}

// against lists what speaks against the finding, honestly.
func against(v *View, g group) (out []string) {
	say := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, x := range g.scans {
		if x.c.Sampled {
			say("The class was seen by looking at what was running, not counted: its share is an estimate.")
		}
		if x.guess && len(x.step.PossibleKeys) > 0 {
			say("The plan was made with typical values, the statement's own were not known.")
		}
		if !x.match.OK() {
			switch {
			case x.shape.Folded:
				say("The statement aggregates, so that how many rows match its conditions is not known: when most do, the index does not help.")
			case len(x.shape.Tables) > 1:
				say("The statement joins tables, so that how many rows of this one match is not known.")
			default:
				say("How many rows match was not counted: when most do, the index does not help.")
			}
		}
		if len(x.shape.Opaque) > 0 {
			say("Parts of the statement were not understood: " + strings.Join(x.shape.Opaque, "; ") + ".")
		}
		if have, ok := leads(x.t, x.wish); ok {
			say(fmt.Sprintf("The index %s begins with one of the columns and is not used.", have.Name))
		}
		if x.inner && len(x.step.PossibleKeys) > 0 {
			say("The columns of the join may differ in type or character set, which keeps an index from being used.")
		}
	}
	if s, ok := v.Has("io-wait", ""); ok {
		say("The server also waits for its disks (" + s.Title + ").")
	}
	return out
}
