package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

const (
	// lifeWindow is the time before the newest diagnosis of a target in which a finding must have been seen to be open.
	lifeWindow = time.Hour
	// resolvedFor is how long a finding that is no longer seen is listed as resolved.
	resolvedFor = 7 * 24 * time.Hour
	// maxIgnored is the longest time that a finding is ignored for.
	maxIgnored = 366 * 24 * time.Hour
)

// Life is when a finding was seen, and what became of it.
type Life struct {
	First time.Time `json:"first_seen"`
	Last  time.Time `json:"last_seen"`
	// Seen of Of diagnoses of the hour before the newest one found it.
	Seen int `json:"seen_in"`
	Of   int `json:"of_diagnoses"`
	// Ignored says until when, and who asked for it.
	Ignored *ledger.Ignored `json:"ignored,omitempty"`
}

// OpenFinding is a finding as the newest diagnosis that saw it reports it.
type OpenFinding struct {
	Finding   finding.Finding `json:"finding"`
	Diagnosis string          `json:"diagnosis"` // id
	Life
}

// ResolvedFinding is one that was seen in the last days and is not seen any more.
type ResolvedFinding struct {
	ID        string           `json:"id"`
	Title     string           `json:"title"`
	Severity  finding.Severity `json:"severity"`
	Diagnosis string           `json:"diagnosis"` // id of the one that saw it last; it may be deleted
	First     time.Time        `json:"first_seen"`
	Last      time.Time        `json:"last_seen"`
	Change    string           `json:"change,omitzero"` // id of the change that was made from it since
}

// Findings is what was found on a target in the hour before its newest diagnosis.
type Findings struct {
	Diagnoses int               `json:"diagnoses"` // in that hour
	Open      []OpenFinding     `json:"open"`      // worst first
	Ignored   []OpenFinding     `json:"ignored"`
	Resolved  []ResolvedFinding `json:"resolved"` // newest first
}

// lives is what is kept of the life of findings.
type lives struct {
	sightings map[string][]ledger.Sighting // by target
	ignored   map[[2]string]ledger.Ignored // by target and finding
	changes   map[[2]string]journal.Entry  // the newest in effect
	servers   func(target string) string   // identity of the one that answers now
}

// lives reads what is kept about the findings of a target, or of all with target "".
func (s *Diagnoses) lives(ctx context.Context, name string) (*lives, error) {
	l := &lives{
		map[string][]ledger.Sighting{},
		map[[2]string]ledger.Ignored{},
		map[[2]string]journal.Entry{},
		s.fleet.serverOf,
	}
	seen, err := s.ledger.Sightings(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, x := range seen {
		l.sightings[x.Target] = append(l.sightings[x.Target], x)
	}
	ignored, err := s.ledger.Ignored(ctx, name, clock.Now())
	if err != nil {
		return nil, err
	}
	for _, x := range ignored {
		l.ignored[[2]string{x.Target, x.Finding}] = x
	}
	changes, err := s.ledger.Outcomes(ctx, name, 200)
	for _, x := range changes {
		if k := [2]string{x.Target, x.Finding}; x.State == journal.Done && l.changes[k].Ended.Before(x.Ended) {
			l.changes[k] = x
		}
	}
	return l, err
}

// changed returns the change that was made from a finding since it was seen last.
func (l *lives) changed(x ledger.Sighting) (id string) {
	if e := l.changes[[2]string{x.Target, x.Finding}]; e.Ended.After(x.Last) {
		return e.ID
	}
	return ""
}

// here reports whether a finding was seen on the server that its target's name stands for, as far as that is known.
func (l *lives) here(x ledger.Sighting) bool {
	now := l.servers(x.Target)
	return x.Server == "" || now == "" || x.Server == now
}

// passed reports whether a finding about sessions was not seen again by a diagnosis at a later moment: they ended, or
// do no harm any more.
func passed(x ledger.Sighting, newest time.Time) bool { return x.Passing && before(x.Last, newest) }

// before reports whether something was seen last before the newest diagnosis; sightings are kept to the millisecond.
func before(last, newest time.Time) bool { return last.Before(newest.Truncate(time.Millisecond)) }

// still orders two findings by whether the newest diagnosis saw them: of equal severity what goes on comes before what
// was.
func still(a, b, newest time.Time) int {
	now := func(t time.Time) int {
		if before(t, newest) {
			return 0
		}
		return 1
	}
	return now(a) - now(b)
}

// open returns the newest diagnosis of a target with the findings that are open.
func (l *lives) open(v app.DiagnosisSummary) app.DiagnosisSummary {
	all := l.sightings[v.Target]
	if len(all) == 0 { // none was seen, or not by this program
		return v
	}
	v.Count, v.Worst, v.Severity, v.Share, v.Last = 0, "", "", 0, time.Time{}
	for _, x := range all {
		if x.Last.Before(v.At.Add(-lifeWindow)) || !l.here(x) || l.changed(x) != "" || passed(x, v.At) {
			continue
		}
		if _, ok := l.ignored[[2]string{x.Target, x.Finding}]; ok {
			v.Ignored++
			continue
		}
		if v.Count++; v.Count == 1 || cmp.Or(cmp.Compare(x.Severity.Rank(), v.Severity.Rank()),
			still(x.Last, v.Last, v.At), cmp.Compare(x.Share, v.Share)) > 0 {
			v.Worst, v.Severity, v.Share, v.Last = x.Title, x.Severity, x.Share, x.Last
		}
	}
	return v
}

// FindingsOf returns the findings of a target: those of the hour before the newest diagnosis, whichever diagnosis saw
// them, and those that are resolved since. One about sessions is resolved once a diagnosis does not see it.
func (s *Diagnoses) FindingsOf(ctx context.Context, name string) (Findings, error) {
	out := Findings{Open: []OpenFinding{}, Ignored: []OpenFinding{}, Resolved: []ResolvedFinding{}}
	newest, err := s.summariesOf(ctx, name, 1)
	if err != nil || len(newest) == 0 {
		return out, err
	}
	since := newest[0].At.Add(-lifeWindow)
	ds, err := s.ledger.Diagnoses.Since(ctx, name, since)
	if err != nil {
		return out, err
	}
	l, err := s.lives(ctx, name)
	if err != nil {
		return out, err
	}
	ds = slices.DeleteFunc(ds, func(d ledger.Diagnosis) bool { return !s.about(app.SummaryOf(d)) })
	out.Diagnoses = len(ds)
	at := map[string]int{} // by id of the finding, its place in all
	var all []OpenFinding
	for _, d := range ds {
		for _, f := range d.Findings {
			i, ok := at[f.ID]
			if !ok {
				i = len(all)
				at[f.ID] = i
				all = append(all, OpenFinding{
					Finding: f, Diagnosis: d.ID,
					Life: Life{First: d.At, Last: d.At, Of: len(ds)},
				})
			}
			all[i].Seen++
			all[i].First = d.At
		}
	}
	resolved := func(x ledger.Sighting) {
		out.Resolved = append(out.Resolved, ResolvedFinding{
			x.Finding, x.Title, x.Severity, x.Diagnosis,
			x.First, x.Last, l.changed(x),
		})
	}
	done := map[string]bool{}
	for _, x := range l.sightings[name] {
		if !l.here(x) {
			continue
		}
		i, ok := at[x.Finding]
		switch {
		case ok && l.changed(x) == "" && !passed(x, newest[0].At):
			all[i].First = x.First
		case ok:
			done[x.Finding] = true
			resolved(x)
		case x.Last.After(newest[0].At.Add(-resolvedFor)):
			resolved(x)
		}
	}
	for _, f := range all {
		if i, ok := l.ignored[[2]string{name, f.Finding.ID}]; ok {
			f.Ignored = &i
			out.Ignored = append(out.Ignored, f)
		} else if !done[f.Finding.ID] {
			out.Open = append(out.Open, f)
		}
	}
	for _, list := range [][]OpenFinding{out.Open, out.Ignored} {
		slices.SortStableFunc(list, func(a, b OpenFinding) int {
			return cmp.Or(cmp.Compare(b.Finding.Severity.Rank(), a.Finding.Severity.Rank()),
				still(b.Last, a.Last, newest[0].At), cmp.Compare(b.Finding.Share, a.Finding.Share),
				cmp.Compare(a.Finding.ID, b.Finding.ID))
		})
	}
	slices.SortStableFunc(out.Resolved, func(a, b ResolvedFinding) int { return b.Last.Compare(a.Last) })
	return out, nil
}

// ErrIgnoreFor is the answer to a time that a finding cannot be ignored for.
var ErrIgnoreFor = errors.New("a finding is ignored for 1 minute to 366 days, or for 0 seconds to show it again")

// IgnoreFinding takes a finding of a target from those that are open, for a time; 0 shows it again. A finding that was
// never seen there is ledger.ErrNotFound.
func (s *Diagnoses) IgnoreFinding(ctx context.Context, name, id, by string, d time.Duration) (ledger.Ignored, error) {
	now := clock.Now().UTC()
	i := ledger.Ignored{Target: name, Finding: id, By: by, At: now}
	if d != 0 && (d < time.Minute || d > maxIgnored) {
		return i, ErrIgnoreFor
	}
	seen, err := s.ledger.Sightings(ctx, name)
	if err != nil {
		return i, err
	}
	if !slices.ContainsFunc(seen, func(x ledger.Sighting) bool { return x.Finding == id }) {
		return i, fmt.Errorf("ignore on %s: %w", name, &ledger.NotFoundError{What: "finding", ID: id})
	}
	if d > 0 {
		i.Until = now.Add(d)
	}
	return i, s.ledger.Ignore(ctx, i)
}
