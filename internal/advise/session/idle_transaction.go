package session

import (
	"cmp"
	"fmt"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// idleNotice is how long a transaction that changed rows may sleep with nobody in its way before it is worth a word,
// seconds: the next one who wants one of its rows stands still.
const idleNotice = 60

// idleTransactions finds sessions that sleep in an open transaction while others wait for its locks.
func idleTransactions(v *advise.View) (out []finding.Finding) {
	q := Queues(v)
	told := map[uint64]bool{}
	for _, h := range q.heads {
		if !q.long(h) || !h.sleeps() || h.named(v) {
			continue
		}
		told[h.id] = true
		out = append(out, idleBlocker(v, q, h))
	}
	return append(out, idleHolders(v, told)...)
}

func idleBlocker(v *advise.View, q Queue, h head) finding.Finding {
	f := blame(v, q, h, "idle-transaction")
	f.Title = fmt.Sprintf("%s active sessions wait for locks of %s, which has been idle in transaction for %s",
		fewOf(h.waiters, q.Busy), Who(h.session, h.id),
		unit.Seconds(h.session.Seconds))
	f.Cause = fmt.Sprintf("The session took locks in its transaction and then sent nothing more. It keeps them until "+
		"it commits, rolls back or is killed, and all sessions that need "+
		"one of these rows wait as long, or until %s ends their wait (%s here).",
		v.Dialect.LockTimeout, seconds(v, v.Dialect.LockTimeout))
	f.Evidence = append([]finding.Evidence{{
		What: "time without a statement", Value: known.Of(h.session.Seconds), Unit: "s",
		Expected: "< 1", Source: source.Processlist,
		Text: fmt.Sprintf("%s was idle in %d of the %d samples in which others waited for it, last for %s.",
			Upper(Who(h.session, h.id)), h.asleep, h.seen, unit.Seconds(h.session.Seconds)),
	}}, f.Evidence...)
	f.Falsify = "Disproved if the waiting sessions keep waiting once that session has committed or is gone."
	f.Suggestion = fmt.Sprintf("Have the user of %s commit or roll back; if that is not possible, kill it: %s. Then "+
		"have the application commit before it waits for people or for "+
		"other services, and make the pool roll back connections that are returned with an open transaction.",
		Account(h.session), v.Dialect.Kill(h.id))
	f.Cost = "What the transaction has changed and not committed is rolled back" + undone(h.trx) + "."
	f.Against = append(f.Against, LastStatement(h.session)+" It may be in the middle of work that must not be lost.")
	idleLimit(v, &f)
	f.Why = idleWhy(q, h)
	return f
}

// LastStatement says in a sentence what an idle session ran last.
func LastStatement(x state.Session) string {
	if sql := cmp.Or(x.Last, x.SQL); sql != "" {
		return "Its last statement: " + Clip(sql) + "."
	}
	return "The last statement of the session is unknown."
}

func idleWhy(q Queue, h head) []finding.Reason {
	var r Reasons
	r.Say("Do sessions wait?", source.Locks, "In %d of %d samples, %s sessions at a time.", h.seen, q.Moments,
		fewOf(h.waiters, q.Busy))
	r.Say("Which session is the root of the wait chains?", source.Locks, "At %s, which is not waiting.",
		Who(h.session, h.id))
	r.Say("Is it active?", source.Processlist, "No: it was idle in %d of these %d samples, last for %s.", h.asleep,
		h.seen,
		unit.Seconds(h.session.Seconds))
	if h.trx.ID != "" {
		r.Say("Why does it hold locks then?", source.Transactions, "Its transaction has been open for %s.",
			unit.Seconds(h.trx.Seconds))
	}
	return r
}

// idleLimit adds the setting that ends such transactions by itself, where the server has one.
func idleLimit(v *advise.View, f *finding.Finding) {
	d := v.Dialect
	f.Reference = d.Manual[advise.LocksAndTransactions]
	name := d.IdleTimeout
	if now, ok := v.Variable(name); ok && now == "0" {
		f.Suggestion += " The server can end such transactions automatically: " + name + ", which is off."
		f.Setting, f.File = []string{name + " = " + d.IdleLimit}, d.File
		f.Subject.Variables = append(f.Subject.Variables, name)
	}
}

// undone says how much a rollback takes back.
func undone(x state.Transaction) string {
	if n, ok := x.Modified.Get(); ok {
		return fmt.Sprintf(": %s rows", unit.Count(float64(n)))
	}
	return ""
}

// idleHolders finds transactions that changed rows and sleep for long, with nobody waiting for them yet.
func idleHolders(v *advise.View, told map[uint64]bool) (out []finding.Finding) {
	m := v.LastMoment()
	if m == nil {
		return nil
	}
	sessions := map[uint64]state.Session{}
	for _, x := range m.Sessions {
		sessions[x.ID] = x
	}
	for _, x := range m.Transactions {
		s, ok := sessions[x.Session]
		n, changed := x.Modified.Get()
		rows, value := unit.Count(float64(n))+" rows", known.Of(float64(n))
		if !v.Dialect.KeepsChanges {
			n, changed, rows, value = 1, !x.ReadOnly, "rows", known.None[float64]()
		}
		if !ok || told[x.Session] || !s.Idle() || s.Seconds < idleNotice ||
			x.Seconds < idleNotice || !changed || n == 0 {
			continue
		}
		f := finding.Finding{
			Rule: "idle-transaction", Severity: finding.Notice, Confidence: finding.Certain,
			Subject: finding.Subject{Sessions: []uint64{x.Session}},
			ID:      finding.MakeID("idle-transaction", Account(s)),
			Title: fmt.Sprintf("%s has been idle for %s in a transaction that has changed %s", Who(s, x.Session),
				unit.Seconds(s.Seconds), rows),
			Cause: "It keeps the locks of these rows until it commits, rolls back or is killed. No session needs one " +
				"of them yet; one that does will wait.",
			Evidence: []finding.Evidence{
				{What: "time without a statement", Value: known.Of(s.Seconds), Unit: "s", Expected: fmt.Sprintf("< %d",
					idleNotice), Source: source.Processlist, Text: fmt.Sprintf("The session sent nothing for %s.",
					unit.Seconds(s.Seconds))},
				{
					What: "rows changed and not committed", Value: value, Source: source.Transactions,
					Text: fmt.Sprintf("Its transaction has been open for %s and has changed %s.",
						unit.Seconds(x.Seconds), rows),
				},
			},
			Against: []string{"No session waited for it in the window."},
			Falsify: "Disproved if the session is active: a batch that computes in the client between two " +
				"statements.",
			Suggestion: fmt.Sprintf("Have the user of %s commit or roll back; if that is not possible, kill it: %s.",
				Account(s), v.Dialect.Kill(x.Session)),
			Cost: "What it has changed is rolled back" + undone(x) + ".",
		}
		if s.Last != "" { // else it says nothing: the server is asked for it of blockers only
			f.Against = append(f.Against, LastStatement(s))
		}
		idleLimit(v, &f)
		var r Reasons
		r.Say("Is an idle transaction open?", source.Transactions, "%s", f.Evidence[1].Text)
		r.Say("Does it block other sessions?", source.Locks, "Not in the samples.")
		f.Why = r
		out = append(out, f)
	}
	return out
}

// seconds returns a setting of a time for a sentence.
func seconds(v *advise.View, name string) string {
	ms, ok := v.Number(name).Get()
	switch {
	case !v.Dialect.Milliseconds:
		return Setting(v, name) + " s"
	case !ok:
		return "unknown"
	case ms == 0:
		return "off"
	}
	return unit.Seconds(ms / 1000)
}

// Setting returns a variable for a sentence.
func Setting(v *advise.View, name string) string {
	if x, ok := v.Variable(name); ok {
		return x
	}
	return "unknown"
}

// Upper begins a sentence.
func Upper(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
