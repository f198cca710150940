package service

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// TestLifeOfFindings: findings that come and go are one list with how often they were seen, advice replaces nothing,
// and what is ignored or changed is open no more.
func TestLifeOfFindings(t *testing.T) {
	a, ctx := alone(t), t.Context()
	v, err := New(ctx, a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	v.Fleet.members["shop"] = &member{entry: ledger.Target{Name: "shop"}}
	now := clock.Now().UTC().Truncate(time.Second)
	put := func(id string, ago time.Duration, advice []string, ids ...string) {
		t.Helper()
		d := ledger.Diagnosis{ID: id, Target: "shop", At: now.Add(-ago), Advice: advice}
		for _, id := range ids {
			severity := map[string]finding.Severity{"index": finding.Critical, "sync": finding.Fact}[id]
			if severity == "" {
				severity = finding.Warning
			}
			d.Findings = append(d.Findings, finding.Finding{ID: id, Title: "title of " + id, Severity: severity})
		}
		if err := v.ledger.Diagnoses.Put(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	// f compares the open findings, the ignored and the resolved; and the worst one that the fleet shows.
	f := func(worst string, open, ignored, resolved []string) Findings {
		t.Helper()
		x, err := v.Diagnoses.FindingsOf(ctx, "shop")
		if err != nil {
			t.Fatal(err)
		}
		var got [3][]string
		for _, o := range x.Open {
			got[0] = append(got[0], o.Finding.ID)
		}
		for _, o := range x.Ignored {
			got[1] = append(got[1], o.Finding.ID)
		}
		for _, r := range x.Resolved {
			got[2] = append(got[2], r.ID)
		}
		if !slices.Equal(got[0], open) || !slices.Equal(got[1], ignored) || !slices.Equal(got[2], resolved) {
			t.Errorf("open %v, ignored %v, resolved %v", got[0], got[1], got[2])
		}
		all, err := v.Diagnoses.Summaries(ctx, "", 0)
		if err != nil || len(all) != 1 || all[0].Worst != worst || all[0].Count != len(open) ||
			all[0].Ignored != len(ignored) {
			t.Errorf("the fleet has %+v, %v", all, err)
		}
		return x
	}
	put("d-1", 26*time.Hour, nil, "old", "locks")
	put("d-2", 40*time.Minute, nil, "index", "locks")
	put("d-3", 20*time.Minute, nil, "locks")
	put("d-4", 10*time.Minute, nil, "filesort")
	put("d-5", time.Minute, []string{"config"}, "sync")
	x := f("title of index", []string{"index", "filesort", "locks"}, nil, []string{"old"})
	if all, err := v.Diagnoses.Summaries(ctx, "", 0); err != nil || !all[0].Last.Equal(now.Add(-40*time.Minute)) {
		t.Errorf("the worst is not said to be of 40 min ago: %+v, %v", all, err)
	}
	if o := x.Open[2]; x.Diagnoses != 3 || o.Seen != 2 || o.Of != 3 || !o.First.Equal(now.Add(-26*time.Hour)) ||
		!o.Last.Equal(now.Add(-20*time.Minute)) || o.Diagnosis != "d-3" {
		t.Errorf("%d diagnoses, %+v", x.Diagnoses, o.Life)
	}
	if history, err := v.Diagnoses.Summaries(ctx, "shop", 0); err != nil || len(history) != 4 ||
		history[0].ID != "d-4" {
		t.Errorf("history %+v, %v", history, err)
	}

	i, err := v.Diagnoses.IgnoreFinding(ctx, "shop", "index", "ann", 7*24*time.Hour)
	if err != nil || i.By != "ann" || i.Until.Sub(now) < 7*24*time.Hour {
		t.Fatalf("%+v %v", i, err)
	}
	x = f("title of filesort", []string{"filesort", "locks"}, []string{"index"}, []string{"old"})
	if x.Ignored[0].Ignored == nil || x.Ignored[0].Ignored.By != "ann" {
		t.Errorf("%+v", x.Ignored[0])
	}
	if _, err := v.Diagnoses.IgnoreFinding(ctx, "shop", "index", "ann", 0); err != nil {
		t.Fatal(err)
	}
	f("title of index", []string{"index", "filesort", "locks"}, nil, []string{"old"})
	if _, err := v.Diagnoses.IgnoreFinding(ctx, "shop", "no such", "ann", time.Hour); !errors.Is(
		err, ledger.ErrNotFound,
	) {
		t.Errorf("an unknown finding: %v", err)
	}
	if _, err := v.Diagnoses.IgnoreFinding(ctx, "shop", "index", "ann", time.Second); !errors.Is(err, ErrIgnoreFor) {
		t.Errorf("for a second: %v", err)
	}

	e := journal.Entry{ID: "a-1", Target: "shop", Finding: "index", State: journal.Done, Ended: now}
	if err := v.ledger.PutEntry(ctx, e); err != nil {
		t.Fatal(err)
	}
	if x = f("title of filesort", []string{"filesort", "locks"}, nil,
		[]string{"index", "old"}); x.Resolved[0].Change != "a-1" {
		t.Errorf("%+v", x.Resolved[0])
	}
	e.State = journal.Undone
	if err := v.ledger.PutEntry(ctx, e); err != nil {
		t.Fatal(err)
	}
	f("title of index", []string{"index", "filesort", "locks"}, nil, []string{"old"})
	put("d-6", -2*time.Hour, nil) // nothing found, long after
	f("", nil, nil, []string{"filesort", "locks", "index", "old"})

	// A session that blocked others is named in a finding only as long as it does.
	at := now.Add(3*time.Hour + 200*time.Microsecond) // sightings are kept to the millisecond
	blocked := ledger.Diagnosis{ID: "d-7", Target: "shop", At: at, Findings: []finding.Finding{
		{
			ID: "victims", Title: "title of victims", Severity: finding.Critical,
			Subject: finding.Subject{Sessions: []uint64{244}},
		},
	}}
	if err := v.ledger.Diagnoses.Put(ctx, blocked); err != nil {
		t.Fatal(err)
	}
	f("title of victims", []string{"victims"}, nil, []string{"filesort", "locks", "index", "old"})
	// What the newest diagnosis saw comes before what was, however large its share.
	shares := ledger.Diagnosis{
		ID: "d-7b", Target: "shop", At: now.Add(3*time.Hour + 30*time.Second),
		Findings: []finding.Finding{
			{ID: "full", Title: "title of full", Severity: finding.Critical, Share: 0.02},
		},
	}
	big := ledger.Diagnosis{
		ID: "d-7a", Target: "shop", At: now.Add(3*time.Hour + 20*time.Second),
		Findings: []finding.Finding{
			{ID: "big", Title: "title of big", Severity: finding.Critical, Share: 0.9},
		},
	}
	for _, d := range []ledger.Diagnosis{big, shares} {
		if err := v.ledger.Diagnoses.Put(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	f("title of full", []string{"full", "big"}, nil, []string{"victims", "filesort", "locks", "index", "old"})
	put("d-8", -3*time.Hour-time.Minute, nil, "filesort")
	f("title of big", []string{"big", "full", "filesort"}, nil, []string{"victims", "locks", "index", "old"})
}
