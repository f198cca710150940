package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise/session"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// chain is a change of a definition that waits, with who is in its way and who waits behind it.
type chain struct {
	object   string
	alter    state.Session
	blocker  state.Session // the zero one when nobody tells
	trx      state.Transaction
	sure     bool    // the server itself named the blocker
	seen     int     // moments
	behind   float64 // sessions, over all moments
	then     float64 // over those in which the change waited
	most     int
	longest  float64
	unknown  string // why the blocker is not known
	victims  map[string]int
	possible int // sessions that could be in the way, when the server does not tell
}

// metadataPileups finds changes of a table that wait for somebody who uses it, while all others wait behind them.
func metadataPileups(v *advise.View) (out []finding.Finding) {
	q := session.Queues(v)
	if !q.Heavy(q.Waiting[state.MetadataLock]) {
		return nil
	}
	for _, c := range chains(v, q) {
		if float64(c.seen) < max(2, session.LongMoments*float64(q.Moments)) || c.longest < session.LongSeconds {
			continue
		}
		out = append(out, metadataPileup(v, q, c))
	}
	return out
}

// chains finds in the moments the changes of definitions that wait, one for each table.
func chains(v *advise.View, q session.Queue) (out []*chain) {
	by := map[string]*chain{}
	for _, m := range v.Moments {
		sessions := map[uint64]state.Session{}
		for _, x := range m.Sessions {
			sessions[x.ID] = x
		}
		waits := map[uint64]bool{} // sessions that wait for metadata
		for _, w := range m.Waits {
			if w.Kind == state.MetadataLock {
				waits[w.Waiter] = true
			}
		}
		// The change that has waited longest stands before everybody else of its table.
		first := map[string]state.Wait{}
		for _, w := range m.Waits {
			if w.Kind != state.MetadataLock || w.Object == "" || !definition(sessions[w.Waiter].SQL) ||
				strings.HasSuffix(w.Held, "(waiting)") {
				continue
			}
			if f, ok := first[w.Object]; !ok || w.Seconds.Or(0) > f.Seconds.Or(0) {
				first[w.Object] = w
			}
		}
		for object, w := range first {
			c := by[object]
			if c == nil {
				c = &chain{object: object, victims: map[string]int{}}
				by[object] = c
				out = append(out, c)
			}
			c.seen++
			c.alter = sessions[w.Waiter]
			c.longest = max(c.longest, w.Seconds.Or(0))
			behind := map[uint64]bool{}
			for _, x := range m.Waits {
				if x.Kind == state.MetadataLock && x.Object == object && x.Waiter != w.Waiter {
					behind[x.Waiter] = true
				}
			}
			for id := range behind {
				if k := sessions[id].ClassID; k != "" {
					c.victims[k]++
				}
			}
			c.behind += float64(len(behind))
			c.most = max(c.most, len(behind))
			if b, ok := w.Blocker.Get(); ok {
				c.sure, c.blocker = true, sessions[b]
				c.blocker.ID = b
				c.trx = transactionOf(m, b)
				continue
			}
			c.unknown = w.Why
			if c.sure {
				continue
			}
			found := inTheWay(m, sessions, waits, object, c.alter)
			c.possible = len(found)
			if len(found) == 1 {
				c.blocker, c.trx = found[0], transactionOf(m, found[0].ID)
			} else {
				c.blocker, c.trx = state.Session{}, state.Transaction{}
			}
		}
	}
	slices.SortFunc(out, func(a, b *chain) int {
		return cmp.Or(cmp.Compare(b.behind, a.behind),
			cmp.Compare(a.object, b.object))
	})
	for _, c := range out {
		c.then = c.behind / float64(max(c.seen, 1))
		c.behind /= float64(max(q.Moments, 1))
	}
	return out
}

func transactionOf(m state.State, session uint64) state.Transaction {
	for _, x := range m.Transactions {
		if x.Session == session {
			return x
		}
	}
	return state.Transaction{}
}

// inTheWay returns the sessions that may hold what a change waits for where the server does not tell: those with a
// statement on the table that is older than the change, and, only when there is none, those that sleep in an older
// transaction.
func inTheWay(m state.State, sessions map[uint64]state.Session, waits map[uint64]bool, object string,
	alter state.Session,
) []state.Session {
	ref, ok := session.TableOf(object)
	if !ok {
		return nil
	}
	var at, asleep []state.Session
	for _, x := range m.Sessions {
		if x.ID == alter.ID || waits[x.ID] || x.Seconds < alter.Seconds || !session.AtWork(x) {
			continue
		}
		for _, t := range mytext.Tables([]byte(x.SQL)) {
			if strings.EqualFold(t[1], ref.Table) && (t[0] == "" && strings.EqualFold(x.DB, ref.Schema) ||
				strings.EqualFold(t[0], ref.Schema)) {
				at = append(at, x)
				break
			}
		}
	}
	for _, x := range m.Transactions {
		if s, ok := sessions[x.Session]; ok && s.Idle() && x.Seconds >= alter.Seconds {
			asleep = append(asleep, s)
		}
	}
	if len(at) > 0 {
		return at
	}
	return asleep
}

func metadataPileup(v *advise.View, q session.Queue, c *chain) finding.Finding {
	waiting := c.behind + float64(c.seen)/float64(max(q.Moments, 1))
	part := q.Part(waiting)
	f := finding.Finding{
		Rule: "mdl-pileup", Severity: session.Severity(part), Confidence: finding.Certain, Share: part,
		Subject: finding.Subject{Sessions: []uint64{c.alter.ID}},
		Explains: append([]string{advise.EffectMetadata, advise.EffectRunning},
			session.ClassTimes(session.Often(c.victims))...),
	}
	if c.alter.ClassID != "" {
		f.Subject.Classes = []string{c.alter.ClassID}
		f.Explains = append(f.Explains, advise.ClassTime(c.alter.ClassID))
	}
	if ref, ok := session.TableOf(c.object); ok {
		f.Subject.Tables = []schema.Ref{ref}
	}
	f.ID = finding.MakeID("mdl-pileup", c.object)
	verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(c.alter.SQL)), " ")
	f.Title = fmt.Sprintf("%s of %s waits for %s, and %s sessions wait behind it", verb, c.object,
		unit.Seconds(c.longest), unit.Count(session.Round(c.then)))
	before := "a session that uses the table"
	if c.blocker.ID != 0 {
		before = session.Who(c.blocker, c.blocker.ID)
		f.Subject.Sessions = []uint64{c.blocker.ID, c.alter.ID}
		f.Title = fmt.Sprintf("%s of %s waits for %s behind %s, and %s sessions wait behind it", verb, c.object,
			unit.Seconds(c.longest), before, unit.Count(session.Round(c.then)))
		if c.blocker.ClassID != "" {
			f.Explains = append(f.Explains, advise.ClassTime(c.blocker.ClassID))
		}
	}
	f.Cause = "DDL needs an exclusive lock on the table for an instant. It waits until every session that uses the " +
		"table has ended its transaction, and because it asked " +
		"first, all later statements on the table wait behind it, reads too. Neither the long transaction nor the " +
		"DDL alone would hurt."
	f.Evidence = []finding.Evidence{
		{
			What: "sessions that wait behind the DDL", Value: known.Of(c.then), Expected: "0",
			Source: source.Locks, Sampled: true,
			Text: fmt.Sprintf("In %d of %d samples %s (%s) waited for a metadata lock, and %s sessions behind it, at "+
				"most %d, of %s active.", c.seen, q.Moments,
				session.Who(c.alter, c.alter.ID), session.Clip(c.alter.SQL), unit.Count(session.Round(c.then)), c.most,
				unit.Count(session.Round(q.Busy))),
		},
		{What: "wait time of the DDL", Value: known.Of(c.longest), Unit: "s", Expected: fmt.Sprintf("< %g",
			session.LongSeconds), Source: source.Locks, Text: fmt.Sprintf("It waited for %s, and may continue for "+
			"lock_wait_timeout = %s s.", unit.Seconds(c.longest), session.Setting(v, "lock_wait_timeout"))},
	}
	if c.blocker.ID != 0 {
		does := "idle in transaction"
		if session.AtWork(c.blocker) {
			does = fmt.Sprintf("has run for %s: %s", unit.Seconds(c.blocker.Seconds), session.Clip(c.blocker.SQL))
		} else if c.trx.ID != "" {
			does += " that has been open for " + unit.Seconds(c.trx.Seconds)
		}
		does += "."
		if !session.AtWork(c.blocker) {
			does += " " + session.LastStatement(c.blocker)
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "blocks the DDL", Source: source.Locks,
			Text: session.Upper(before) + " " + does,
		})
	}
	for i, id := range session.Often(c.victims) {
		if i == 3 {
			break
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "waits behind it", Source: source.Processlist, Sampled: true,
			Text: "Blocked (victim): " + session.Told(v, id) + ".",
		})
	}
	switch {
	case c.blocker.ID == 0:
		f.Confidence = finding.Likely
		f.Unobserved = append(f.Unobserved, "Which session blocks the DDL: "+c.unknown+".")
		if c.possible > 1 {
			f.Unobserved = append(f.Unobserved, fmt.Sprintf("%d sessions were there before the DDL and could block it.",
				c.possible))
		}
	case !c.sure:
		f.Confidence = finding.Likely
		f.Against = append(f.Against, "That "+before+" blocks it is inferred: it was there before the DDL and, as "+
			"far as observed, alone. "+session.Upper(c.unknown)+".")
	}
	end := "cancel the DDL: " + v.Dialect.Kill(c.alter.ID)
	if c.blocker.ID != 0 {
		end = fmt.Sprintf("kill the blocker (%s) or cancel the DDL (%s), and the queue dissolves",
			v.Dialect.Kill(c.blocker.ID), v.Dialect.Kill(c.alter.ID))
	}
	f.Suggestion = session.Upper(end) + ". Use a short lock_wait_timeout for DDL, SET SESSION lock_wait_timeout = 2 " +
		"before ALTER, and retry at a quiet time."
	f.Cost = "A killed session has to start again. DDL that gives up early may take several attempts."
	f.Falsify = "Disproved if the others still wait once the DDL is cancelled."
	f.Reference = "MySQL manual, \"Metadata Locking\"; MariaDB documentation, \"Metadata Locking\" and \"WAIT and " +
		"NOWAIT\""
	f.Gain = session.WaitGain(part)
	f.Symptoms = session.SymptomIDs(v, session.Often(c.victims), finding.LockQueue, finding.LockWaiting)
	var r session.Reasons
	r.Say("Who waits?", source.Locks, "%s sessions at a time for metadata locks on %s.",
		unit.Count(session.Round(waiting)), c.object)
	r.Say("Which of them needs the exclusive lock?", source.Processlist, "%s: %s.",
		session.Who(c.alter, c.alter.ID), session.Clip(c.alter.SQL))
	r.Say("What blocks it?", source.Locks, "%s.", session.Upper(before))
	r.Say("Why do the others wait?", "", "They came after the DDL requested its lock and queue behind it.")
	f.Why = r
	return f
}

// definition reports whether a statement changes or locks a table's definition.
func definition(sql string) bool {
	word, rest, _ := strings.Cut(strings.ToUpper(mytext.Body(sql)), " ")
	switch word {
	case "ALTER", "DROP", "TRUNCATE", "RENAME", "OPTIMIZE", "REPAIR", "LOCK":
		return true
	case "CREATE":
		return strings.Contains(rest, "INDEX") || strings.Contains(rest, "TRIGGER")
	}
	return false
}
