package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dyno/internal/diagnose"
	"dyno/internal/digestsource"
	"dyno/internal/metric"
	"dyno/internal/scrape"
	"dyno/internal/snapshot"
	"dyno/internal/sqltext"
	"dyno/internal/target"
)

// Check tries every source of figures once and tells what each gave.
func (a *App) Check(ctx context.Context, t *target.Target) ([]snapshot.Source, error) {
	s, err := scrape.New(t, scrape.Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := s.Once(ctx)
	sources := r.Sources
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x, ok := unseen(ctx, t, r.Samples); ok {
		sources = append(sources, x)
	}
	d, err := digestsource.Open(ctx, t, digestsource.Options{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	look, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := d.Begin(ctx); err != nil {
		return nil, err
	}
	if err := d.Run(look); err != nil && look.Err() == nil {
		return nil, err
	}
	_, more, err := d.End(ctx)
	return append(sources, more...), err
}

// unseen is the source of tables as denied, when the server has tables in schemas of which the account sees nothing: its dictionary leaves
// them out without a word, and the list of its files, which PROCESS shows, does not.
func unseen(ctx context.Context, t *target.Target, samples []metric.Sample) (x snapshot.Source, ok bool) {
	const mostName = 256         // bytes; names have 64 characters
	names := map[string]string{} // by themselves in small letters
	for _, m := range samples {
		s, _, ok := strings.Cut(m.Labels.Get("tablespace_name"), "/")
		// Older servers write names as those of files, with an @ before what is no letter.
		if ok && m.Name == "mysql_info_schema_innodb_tablespace_file_size_bytes" && !strings.Contains(s, "@") && len(s) <= mostName {
			names[strings.ToLower(s)] = s
		}
	}
	rows, err := t.Reading().QueryContext(ctx, sqltext.Tagged("check", "", "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA"))
	if err != nil {
		return x, false // other sources tell
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return x, false
		}
		if len(s) <= mostName {
			delete(names, strings.ToLower(s))
		}
	}
	hidden := slices.Sorted(maps.Values(names))
	if rows.Err() != nil || len(hidden) == 0 {
		return x, false
	}
	const most = 5 // grants that anybody reads
	more := ""
	if len(hidden) > most {
		more, hidden = fmt.Sprintf(" and %d more schemas", len(hidden)-most), hidden[:most]
	}
	return snapshot.Source{
		Name: "tables", State: snapshot.Denied, Reason: "the account sees no table of " + strings.Join(hidden, ", ") + more,
		Fix: t.Facts().ExplainFix(hidden),
	}, true
}

const (
	// rightsEvery is how often the privileges of a watched account are read.
	rightsEvery = 5 * time.Second
	// rightsOften is how many changes of them begin a session anew at once. Further ones wait, twice as long each time and rightsMost at the
	// most, until none has come for rightsCalm: whoever may grant something on a schema of his can change them all the time.
	rightsOften = 5
	rightsMost  = 5 * time.Minute
	rightsCalm  = 15 * time.Minute
)

// rightsPause returns how long a change of an account's privileges waits that comes at now.
func (m *member) rightsPause(now time.Time) time.Duration {
	if now.Sub(m.rightsAt) > rightsCalm {
		m.rightsTimes = 0
	}
	m.rightsAt = now
	m.rightsTimes++
	if m.rightsTimes <= rightsOften {
		return 0
	}
	return min(rightsEvery<<min(m.rightsTimes-rightsOften-1, 10), rightsMost)
}

// rights follows what the account of a target may do until that changes or ctx ends.
func (s *Service) rights(ctx context.Context, m *member, t *target.Target) {
	had, err := t.Privileges(ctx)
	var due time.Time // of a change; zero without one
	for known := err == nil; wait(ctx, rightsEvery); {
		var hidden *snapshot.Source
		if x, ok := unseen(ctx, t, m.newest()); ok {
			hidden = &x
		}
		m.mu.Lock()
		m.hidden = hidden
		m.mu.Unlock()
		has, err := t.Privileges(ctx)
		switch {
		case err != nil: // the server is away, or does not say
		case !known:
			had, known = has, true
		case slices.Equal(has, had):
			due = time.Time{}
		default:
			now := time.Now()
			if due.IsZero() {
				due = now.Add(m.rightsPause(now))
			}
			if !now.Before(due) {
				return
			}
		}
	}
}

// denied returns what the account may not see of what judgement needs; nil when it may see all, and while the server is down. The caller
// holds m.mu.
func (m *member) denied() *diagnose.Denial {
	if m.state == nil || !m.state.Up {
		return nil
	}
	sources := slices.Clone(m.sources)
	for _, x := range m.state.Sources { // those of query classes too
		if !slices.ContainsFunc(sources, func(y snapshot.Source) bool { return y.Name == x.Name }) {
			sources = append(sources, x)
		}
	}
	if m.hidden != nil {
		sources = append(sources, *m.hidden)
	}
	if d, ok := diagnose.DeniedOf(sources); ok {
		return &d
	}
	return nil
}
