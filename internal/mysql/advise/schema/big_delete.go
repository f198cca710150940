package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	bigRows     = 5000 // rows of one DELETE: some megabytes of undo, and locks for longer than anybody should wait
	bigSec      = 0.05 // seconds of one DELETE
	bigWaiting  = 0.05 // of the statement time spent waiting for row locks, without anybody having been seen to wait
	deleteChunk = 1000 // rows at a time, which take some milliseconds
	maxPurges   = 50   // that are told of
)

// purge is a DELETE of many rows.
type purge struct {
	c       class.Class
	shape   shape.Shape
	t       schema.Table
	rows    float64 // of one execution
	sec     float64 // that one execution takes
	guessed bool    // rows were seen in passing, not counted

	moments int             // in which somebody waited for it
	waiters map[string]bool // ids of the classes that did
	most    int             // sessions that waited at a time
}

// bigDelete finds a DELETE of many rows in one statement for whose locks others wait.
func bigDelete(v *advise.View) (out []finding.Finding) {
	if v.Window <= 0 || v.Total <= 0 {
		return nil
	}
	for _, p := range purges(v) {
		p.watch(v)
		waited, counted := v.Status("Innodb_row_lock_time").Get() // milliseconds
		others := p.moments > 0
		// Nobody was seen to wait. Then the delete must be the only one that may keep locks for long, and waiting must
		// be a good part of the time.
		if !others && (!counted || waited/1000*v.Window < bigWaiting*v.Total || !shared(v, p)) {
			continue
		}
		out = append(out, p.report(v, waited/1000*v.Window))
	}
	return out
}

// purges returns the classes that delete many rows at a time, and such statements that were still running.
func purges(v *advise.View) (out []*purge) {
	for _, c := range v.Classes {
		if !verb(c.Fingerprint, "delete") {
			continue
		}
		p := &purge{c: c, waiters: map[string]bool{}}
		if n, ok := c.PerCall(c.Affected).Get(); ok && exact(c) {
			p.rows = n
		} else {
			p.rows, p.guessed = seenRows(v, c.ID), true
		}
		p.sec = c.MeanSec().Or(c.MaxSec.Or(0))
		if p.sec == 0 {
			p.sec = seenSec(v, c.ID)
		}
		if p.rows >= bigRows && p.sec >= bigSec && p.resolve(v) {
			out = append(out, p)
		}
	}
	for _, m := range v.Moments { // one that did not end within the window is in no count
		for _, s := range m.Sessions {
			there := slices.ContainsFunc(out, func(p *purge) bool { return p.c.ID == s.ClassID })
			if there || s.ClassID == "" || !verb(s.SQL, "delete") {
				continue
			}
			if c, ok := v.Class(s.ClassID); ok && exact(c) && c.Count > 0 {
				continue // its executions were counted, and are small ones
			}
			p := &purge{
				c: class.Class{
					ID: s.ClassID, Fingerprint: s.SQL, Schema: s.DB,
					Origin: class.Processlist, Sampled: true,
				},
				rows: seenRows(v, s.ClassID), sec: seenSec(v, s.ClassID), guessed: true, waiters: map[string]bool{},
			}
			if p.rows >= bigRows && p.sec >= bigSec && p.resolve(v) {
				out = append(out, p)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *purge) int {
		return cmp.Or(cmp.Compare(b.rows*float64(b.c.Count), a.rows*float64(a.c.Count)), cmp.Compare(a.c.ID, b.c.ID))
	})
	return out[:min(len(out), maxPurges)]
}

// verb reports whether a statement begins with a word.
func verb(sql, word string) bool {
	sql = strings.TrimSpace(sql)
	return len(sql) > len(word) && strings.EqualFold(sql[:len(word)], word) && !('a' <= sql[len(word)]|0x20 &&
		sql[len(word)]|0x20 <= 'z')
}

// resolve finds the table; a DELETE of several tables cannot be cut into pieces by LIMIT and is left out.
func (p *purge) resolve(v *advise.View) bool {
	sh, err := v.Shape(p.c)
	if err != nil || sh.Kind != shape.Delete || len(sh.Tables) != 1 {
		return false
	}
	t, ok := v.Resolve(p.c, sh.Tables[0])
	p.shape, p.t = sh, t
	return ok && innodb(t)
}

// seenRows is the most rows that a transaction of a class was seen to have changed.
func seenRows(v *advise.View, id string) (most float64) {
	for _, m := range v.Moments {
		for _, s := range m.Sessions {
			if s.ClassID != id {
				continue
			}
			for _, x := range m.Transactions {
				if x.Session == s.ID {
					most = max(most, float64(x.Modified.Or(0)))
				}
			}
		}
	}
	return most
}

// seenSec is the longest that a statement of a class was seen to run.
func seenSec(v *advise.View, id string) (most float64) {
	for _, m := range v.Moments {
		for _, s := range m.Sessions {
			if s.ClassID == id {
				most = max(most, s.Seconds)
			}
		}
	}
	return most
}

// watch counts who waited for it.
func (p *purge) watch(v *advise.View) {
	for _, m := range v.Moments {
		byID := map[uint64]state.Session{}
		for _, s := range m.Sessions {
			byID[s.ID] = s
		}
		waiting := map[uint64]bool{}
		for _, w := range m.Waits {
			if b, ok := w.Blocker.Get(); ok && w.Kind == state.RowLock && byID[b].ClassID == p.c.ID &&
				byID[w.Waiter].ClassID != p.c.ID {
				waiting[w.Waiter] = true
				if id := byID[w.Waiter].ClassID; id != "" {
					p.waiters[id] = true
				}
			}
		}
		if len(waiting) > 0 {
			p.moments++
			p.most = max(p.most, len(waiting))
		}
	}
}

// shared reports whether a class of statements with a good part of the time changes the same table.
func shared(v *advise.View, p *purge) bool {
	return slices.ContainsFunc(uses(v, changing), func(u use) bool {
		return u.t.Ref == p.t.Ref && u.c.ID != p.c.ID && (u.shape.Kind == shape.Update ||
			u.shape.Kind == shape.Delete) && u.c.TimeSec >= layoutShare*v.Total
	})
}

func (p *purge) report(v *advise.View, waited float64) finding.Finding {
	ref := p.t.Ref
	// Part of the waiting is for other locks; most of it is for these.
	share := min(1, waited/v.Total)
	if p.moments > 0 && len(v.Moments) > 0 && share == 0 {
		share = min(1, float64(p.moments)/float64(len(v.Moments)))
	}
	f := finding.Finding{
		Rule: "big-delete", ID: finding.MakeID("big-delete", ref.String(), p.c.ID), Severity: v.Severity(share),
		Confidence: finding.Certain,
		Subject:    finding.Subject{Classes: []string{p.c.ID}, Tables: []schema.Ref{ref}},
		Title: fmt.Sprintf("a DELETE removes %s rows from %s in one statement of %s, and other sessions wait for "+
			"its locks", unit.Count(p.rows), ref, unit.Seconds(p.sec)),
		Cause: "Until it ends, the statement keeps a lock on each row that it has passed, and each of these is " +
			"undone or purged later. A session that changes one of them waits for all of the rest.",
		Explains: []string{advise.EffectRowLocks, advise.ClassTime(p.c.ID)},
		Share:    0.9 * share,
	}
	counted := "counted"
	if p.guessed {
		f.Confidence, counted = finding.Likely, "sampled"
	}
	f.Evidence = append(f.Evidence, finding.Evidence{
		What: "rows of one DELETE", Value: known.Of(p.rows), Unit: "rows", Expected: fmt.Sprintf("< %s",
			unit.Count(bigRows)), Source: p.c.Source(), Sampled: p.guessed,
		Text: fmt.Sprintf("%s rows in %s, %s: %s", unit.Count(p.rows), unit.Seconds(p.sec), counted,
			clip(p.c.Fingerprint)),
	})
	if p.moments > 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "samples in which sessions waited for it", Value: known.Of(float64(p.moments)), Expected: "0",
			Source: source.Locks, Sampled: true,
			Text: fmt.Sprintf("In %d of %d samples of the window sessions waited for a row lock that it held, up to "+
				"%d at a time.", p.moments, len(v.Moments), p.most),
		})
		for _, c := range v.Classes {
			if p.waiters[c.ID] {
				f.Explains = append(f.Explains, advise.ClassTime(c.ID))
				f.Evidence = append(f.Evidence, finding.Evidence{
					What: "class that waits", Source: source.Locks,
					Text: "Waiting: " + clip(c.Fingerprint),
				})
			}
		}
	} else {
		f.Confidence = finding.Likely
		f.Against = append(f.Against, "No session was observed waiting for it: it ran between two samples.")
	}
	if waited > 0 {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "time spent waiting for row locks", Value: known.Of(waited / v.Window), Unit: "s/s",
			Source: source.GlobalStatus,
			Text: fmt.Sprintf("Sessions waited %s for row locks in %s, of %s statement time. A wait counts when it "+
				"ends.", unit.Seconds(waited), unit.Seconds(v.Window), unit.Seconds(v.Total)),
		})
	} else {
		f.Unobserved = append(f.Unobserved, "How long sessions waited for row locks: no wait ended within the window.")
	}
	if n, ok := p.c.NoIndex.Get(); ok && n > 0 {
		f.Against = append(f.Against, "It was counted as a statement without an index as well. An index on its "+
			"condition lets it lock fewer rows; it still keeps those until its end.")
	}
	order := chunkOrder(p.t, p.shape)
	if order != "" {
		order = " ORDER BY " + ddl.Quote(order)
	}
	f.Suggestion = fmt.Sprintf("Delete in batches: DELETE FROM %s WHERE …%s LIMIT %d, a commit after each, until no "+
		"row is left. Where whole days are deleted at once, partition by day and use DROP PARTITION, which takes no "+
		"time.",
		ddl.Name(ref), order, deleteChunk)
	if p.shape.Limit {
		f.Suggestion = fmt.Sprintf("Use a smaller LIMIT: %d rows at a time, a commit after each, until no row is left.",
			deleteChunk)
	}
	f.Cost = "The job takes somewhat longer as a whole, and a reader in between sees part of the rows deleted. With " +
		"statement-based replication DELETE … LIMIT needs its ORDER BY to be unambiguous."
	each := max(0.002, p.sec*deleteChunk/p.rows)
	f.Gain = &finding.Gain{
		What: "longest wait of other sessions", Lo: max(1.5, p.sec/each/4), Hi: max(3, p.sec/each),
		Text: fmt.Sprintf("%d rows take some %s instead of %s; a waiting session waits that long", deleteChunk,
			unit.Seconds(each), unit.Seconds(p.sec)),
	}
	f.Falsify = "Disproved if sessions wait for row locks as long while the job does not run."
	f.Reference = "Reference manual, \"Locks Set by Different SQL Statements in InnoDB\""
	for _, e := range f.Evidence {
		f.Why = append(f.Why, asking("What blocks the others?", e.Source, "%s", e.Text))
	}
	return f
}

// chunkOrder returns the column that parts of a delete are taken in the order of: one of its conditions that an index
// begins with, else the primary key. In any other order each part would read and sort all of the rows, and lock them.
// "" when there is none.
func chunkOrder(t schema.Table, sh shape.Shape) string {
	for _, p := range sh.Predicates {
		for _, x := range t.Indexes {
			if !x.Hidden && len(x.Parts) > 0 && strings.EqualFold(x.Parts[0].Column, p.Column) {
				return x.Parts[0].Column
			}
		}
	}
	if pk, ok := t.PrimaryKey(); ok && len(pk.Parts) > 0 {
		return pk.Parts[0].Column
	}
	return ""
}
