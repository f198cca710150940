package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Trouble is something that is wrong with Dyno itself: it cannot store, does not read as it should, or cannot ask a
// server.
type Trouble struct {
	// "disk", "store", "clock", "gaps", "late", "sources", "config", "remote-write"
	Kind     string    `json:"kind"`
	Severity string    `json:"severity"` // "bad": figures are lost; "warn"
	Text     string    `json:"text"`     // a sentence
	Fix      string    `json:"fix,omitzero"`
	Targets  []string  `json:"targets,omitempty"` // whose figures it is about; none: all
	Since    time.Time `json:"since,omitzero"`
}

// FixNotConfigured is what helps a target whose password variable is not set.
const FixNotConfigured = "Fix: start dyno serve with that variable set, or name a defaults file"

const (
	// healthSpan is how long a gap is remembered.
	healthSpan = 15 * time.Minute
	// leastGaps is how much of that must be missing: a single second that a busy machine lost is no trouble.
	leastGaps = 5 * time.Second
	// failingAfter is how long a source must have failed: one answer that came too late is no trouble.
	failingAfter = 30 * time.Second
	// lateRounds is over how many readings lateness is looked at, latePart how many of them may be late.
	lateRounds = 60
	latePart   = 0.25
	// silentAfter is how many intervals may pass without a reading.
	silentAfter = 10
)

// memberHealth is how reading and storing one target fares.
type memberHealth struct {
	mu      sync.Mutex
	at      time.Time // when the newest reading came, by this machine's clock
	every   time.Duration
	gaps    []event.Event
	failing map[string]time.Time // since when, by source
	late    [lateRounds]float64  // seconds, in turns
	rounds  int
	full    bool
	err     error // why the newest reading was not stored
}

func (h *memberHealth) read(r reading.Reading, every time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.every = time.Now(), every
	h.gaps = slices.DeleteFunc(h.gaps, func(e event.Event) bool { return r.At.Sub(e.Until) > healthSpan })
	for _, e := range r.Events {
		if e.Kind == event.Gap && e.Until.After(e.At) { // and no leap of the clock, for which times repeat
			h.gaps = append(h.gaps, e)
		}
	}
	failing := map[string]time.Time{}
	for _, x := range r.Sources {
		if r.State.Up && (x.State == source.Failed || x.State == source.Slow) {
			since, ok := h.failing[string(x.Name)]
			if !ok {
				since = r.At
			}
			failing[string(x.Name)] = since
		}
	}
	h.failing = failing
	for _, x := range r.Samples {
		if x.Name == "dyno_scrape_late_seconds" {
			h.late[h.rounds%lateRounds] = x.Value
			h.rounds++
		}
	}
}

func (h *memberHealth) store(err error) {
	var order *series.OutOfOrderError
	var ahead *series.AheadError
	if errors.As(err, &order) || errors.As(err, &ahead) { // the clock was set; the others were stored
		err = nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.full, h.err = errors.Is(err, series.ErrFull), err
}

// Health returns what is wrong with Dyno itself now, the worst first.
func (s *Service) Health() []Trouble {
	all := []Trouble{}
	now := clock.Now()
	full := false
	if room, ok := s.o.Reserve.Room(s.app.Home); ok {
		free := fmt.Sprintf("%s of %s are free", unit.Bytes(float64(room.Free)), unit.Bytes(float64(room.Total)))
		const fix = "Fix: free some space, or lower the reserve with dyno serve --reserve=SIZE"
		switch {
		case room.Free < room.Need:
			full = true
			all = append(all, Trouble{
				Kind: "disk", Severity: "bad", Fix: fix,
				Text: fmt.Sprintf(
					"The disk of %s is full: Dyno stores nothing. %s; %s are reserved for other programs.", s.app.Home,
					free, unit.Bytes(float64(room.Need))),
			})
		case room.Free < room.Need+room.Need/4:
			all = append(all, Trouble{
				Kind: "disk", Severity: "warn", Fix: fix,
				Text: fmt.Sprintf("The disk of %s is nearly full: %s, and below %s Dyno stores nothing.", s.app.Home,
					free, unit.Bytes(float64(room.Need))),
			})
		}
	}
	members := s.Fleet.All()
	var gaps, late, silent, unstored []string
	var last event.Event
	lost := time.Duration(0)
	for _, m := range members {
		name, h := m.Entry.Name, m.health
		h.mu.Lock()
		switch {
		case h.err == nil || full:
		case h.full: // there is more room again, and not enough to go on
			unstored = append(unstored, name)
		default:
			all = append(all, Trouble{Kind: "store", Severity: "bad", Targets: []string{name}, Text: "Metrics of " +
				name + " are not stored: " + h.err.Error()})
		}
		sum := time.Duration(0)
		for _, e := range h.gaps {
			if sum += e.Until.Sub(e.At); e.Until.After(last.Until) {
				last = e
			}
		}
		if lost = max(lost, sum); sum >= leastGaps {
			gaps = append(gaps, name)
		}
		n := 0
		for _, sec := range h.late {
			if sec > h.every.Seconds()/4 {
				n++
			}
		}
		if h.rounds >= lateRounds && float64(n) > latePart*lateRounds {
			late = append(late, name)
		}
		if !h.at.IsZero() && time.Since(h.at) > silentAfter*h.every {
			silent = append(silent, name)
		}
		var failing []string
		for source, since := range h.failing {
			if now.Sub(since) >= failingAfter {
				failing = append(failing, source)
			}
		}
		h.mu.Unlock()
		if len(failing) > 0 {
			slices.Sort(failing)
			all = append(all, Trouble{
				Kind: "sources", Severity: "warn", Targets: []string{name},
				Text: fmt.Sprintf("%s of %s failed for %v or longer: %s.", unit.Plural(len(failing), "data source",
					"data sources"), name, failingAfter, strings.Join(failing, ", ")),
				Fix: "Settings, Targets lists the reasons",
			})
		}
	}
	if len(unstored) > 0 {
		all = append(all, Trouble{
			Kind: "disk", Severity: "bad", Targets: unstored,
			Text: "The disk is full: metrics of " + strings.Join(unstored, ", ") + " are not stored.",
			Fix:  "Fix: free some space",
		})
	}
	const cpu = "Fix: give Dyno more CPU, or watch fewer servers on this machine"
	if len(silent) > 0 {
		all = append(all, Trouble{
			Kind: "late", Severity: "bad", Targets: silent, Fix: cpu,
			Text: fmt.Sprintf("No data of %s for more than %v.", strings.Join(silent, ", "),
				silentAfter*s.Fleet.Every()),
		})
	}
	if len(gaps) > 0 {
		fix := ""
		if last.Cause == event.NoCPU {
			fix = cpu
		}
		all = append(all, Trouble{
			Kind: "gaps", Severity: "warn", Targets: gaps, Fix: fix,
			Text: fmt.Sprintf("Gaps in the data of %s: %v of the last %v. The last one ended at %s: %s.",
				strings.Join(gaps, ", "), lost.Round(100*time.Millisecond), healthSpan,
				last.Until.UTC().Format("15:04:05 UTC"), last.Text),
		})
	}
	if len(late) > 0 {
		all = append(all, Trouble{
			Kind: "late", Severity: "warn", Targets: late, Fix: cpu,
			Text: fmt.Sprintf("Scrapes of %s are late: more than %.0f %% of the last %d began over %v late.",
				strings.Join(late, ", "), 100*latePart, lateRounds, s.Fleet.Every()/4),
		})
	}
	for _, m := range members {
		if m.State != nil && m.State.NotConfigured {
			all = append(all, Trouble{
				Kind: "config", Severity: "bad", Targets: []string{m.Entry.Name},
				Text: m.Entry.Name + " is " + m.State.Reason + ".", Fix: FixNotConfigured,
			})
		}
	}
	for _, w := range s.Writers() {
		if w.Err != nil && !w.Since.IsZero() && time.Since(w.Since) > failingAfter {
			all = append(all, Trouble{Kind: "remote-write", Severity: "warn", Text: "Nothing was sent to " + w.To +
				": " + w.Err.Error(), Since: w.Since})
		}
	}
	if text := stepWarning(); text != "" {
		all = append(all, Trouble{Kind: "clock", Severity: "warn", Text: text})
	}
	// "bad" before "warn"
	slices.SortStableFunc(all, func(a, b Trouble) int { return strings.Compare(a.Severity, b.Severity) })
	return all
}
