package proof

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/stat"
)

// earlierDays is how many earlier days' same hours are taken at most.
const earlierDays = 7

// sparse is the least part of a side's time that must have been observed.
const sparse = 0.5

// stamp is how moments are written.
const stamp = "2006-01-02 15:04:05 UTC"

// undisturbed returns the time around the change in which nothing else changed that may be the cause: from the last
// other change before it to the first one after. An event between the last window before and the first one after is a
// reason not to judge.
func (c Case) undisturbed(parse shape.Parse) (from, to time.Time, notes, broken []string) {
	first, last := c.Ended.Add(c.After), c.Started // ends of the time of which it is not known what changed when
	for _, s := range c.Traffic.Spans {
		if !s.To.After(c.Started) {
			last = s.To
		}
	}
	for _, s := range c.Traffic.Spans {
		if !s.From.Before(c.Ended) {
			first = s.From
			break
		}
	}
	if last.After(c.Started) || c.Started.Sub(last) > time.Hour {
		last = c.Started
	}
	tables := sync.OnceValue(func() []string { return c.tables(parse) })
	for _, e := range c.Events {
		what := c.disturbs(e, tables)
		if what == "" {
			continue
		}
		end := e.Until
		if end.Before(e.At) {
			end = e.At
		}
		at := e.At.UTC().Format(stamp)
		switch {
		case !end.After(last):
			if end.After(from) && end.After(c.Started.Add(-c.Before)) {
				notes = append(notes, fmt.Sprintf("before: only the time after %s at %s counts", what, at))
			}
			if end.After(from) {
				from = end
			}
		case !e.At.Before(first):
			if (to.IsZero() || e.At.Before(to)) && e.At.Before(c.Ended.Add(c.After)) {
				to = e.At
				notes = append(notes, fmt.Sprintf("after: only the time until %s at %s counts", what, at))
			}
		default:
			broken = append(broken, fmt.Sprintf("other changes at the same time: %s at %s", what, at))
		}
	}
	return from, to, notes, broken
}

// disturbs says what an event is that may change the time of a call as well, "" for one that does not, or is the change
// itself. tables are those of Case.tables.
func (c Case) disturbs(e event.Event, tables func() []string) string {
	near := !e.At.Before(c.Started.Add(-5*time.Second)) && !e.At.After(c.Ended.Add(time.Minute))
	text := strings.ToLower(e.Text)
	short := e.Text
	if len(short) > 80 {
		short = strings.ToValidUTF8(short[:80], "") + "…"
	}
	switch {
	case e.Replaces():
		return short
	case e.Kind == event.Restart:
		return "a restart of the server"
	case e.Kind == event.Action:
		if e.Ref == c.ID && c.ID != "" {
			return ""
		}
		return "another action (" + short + ")"
	case e.Kind == event.Config:
		if e.Ref != "" { // another plan of a class: an effect, no cause
			return ""
		}
		if near && c.Action.Variable != "" && strings.Contains(text, strings.ToLower(c.Action.Variable)) {
			return ""
		}
		return "a changed setting (" + short + ")"
	case e.Kind == event.DDL:
		own := e.Names(c.Action.Table.Table) || e.Names(c.Action.Index.Name)
		if near && own && !strings.HasSuffix(e.Text, event.OtherDDL) ||
			c.Action.Table.Table != "" && !slices.ContainsFunc(tables(), e.Names) {
			return ""
		}
		return "a schema change (" + short + ")"
	}
	return ""
}

// tables returns the tables that are used by the classes which the change is about: what is done to one of them may
// change their time as well.
func (c Case) tables(parse shape.Parse) []string {
	all := []string{c.Action.Table.Table}
	for _, x := range c.Traffic.Courses {
		if !c.concerns(x.Class, parse) {
			continue
		}
		if sh, err := parse(x.Class.Text()); err == nil {
			for _, t := range sh.Tables {
				all = append(all, t.Name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// divide chooses the windows of either side within the undisturbed time.
func (c Case) divide(from, to time.Time) (s sides) {
	left := c.Started.Add(-c.Before)
	if from.After(left) {
		left = from
	}
	right := c.Ended.Add(c.After)
	if !to.IsZero() && to.Before(right) {
		right = to
	}
	for i, w := range c.Traffic.Spans {
		switch {
		case !w.From.Before(left) && !w.To.After(c.Started):
			s.before = append(s.before, i)
		case !w.From.Before(c.Ended) && !w.To.After(right):
			s.after = append(s.after, i)
		}
	}
	s.before, s.after = c.nearest(s.before, -1), c.nearest(s.after, 1)
	if len(s.after) == 0 {
		return s
	}
	end := c.Traffic.Spans[s.after[len(s.after)-1]].To
	begin := c.Traffic.Spans[s.after[0]].From
	for i, w := range c.Traffic.Spans {
		if !w.From.Before(left) || w.From.Before(from) {
			continue
		}
		for d := 1; d <= earlierDays; d++ {
			day := time.Duration(d) * 24 * time.Hour
			if !w.From.Before(begin.Add(-day)) && !w.To.After(end.Add(-day)) {
				s.earlier = append(s.earlier, i)
				break
			}
		}
	}
	return s
}

// longGap is how long a gap is beyond which windows are not needed when there are enough nearer to the change: what
// happened in it is not known, and it may even have been another server.
const longGap = 5 * time.Minute

// nearest returns the windows of a side that no long gap parts from the change, if these are enough. step is -1 for
// windows before the change and 1 for those after it.
func (c Case) nearest(windows []int, step int) []int {
	for n := 1; n < len(windows); n++ {
		i := n // of the later of two neighbours
		if step < 0 {
			i = len(windows) - n
		}
		a, b := c.Traffic.Spans[windows[i-1]], c.Traffic.Spans[windows[i]]
		if b.From.Sub(a.To) <= longGap || n < stat.MinWindows {
			continue
		}
		if step < 0 {
			return windows[i:]
		}
		return windows[:i]
	}
	return windows
}

// refusals says why the windows of a side cannot be compared with others.
func (c Case) refusals(side string, windows []int) []string {
	n := len(windows)
	if n < stat.MinWindows {
		return []string{fmt.Sprintf("too few windows: %d %s the change; at least %d are needed", n, side,
			stat.MinWindows)}
	}
	x := c.stretch(windows)
	if all := x.To.Sub(x.From).Seconds(); x.Seconds < sparse*all {
		return []string{fmt.Sprintf("gaps: only %.0f %% of the time %s was observed", 100*x.Seconds/all, side)}
	}
	return nil
}
