package session

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// victims finds sessions that others queue behind while they work in a long transaction. The statements in the queue
// look slow and are not: what takes their time is the wait.
func victims(v *advise.View) (out []finding.Finding) {
	q := Queues(v)
	for _, h := range q.heads {
		if !q.long(h) || h.sleeps() || h.named(v) ||
			h.trx.Seconds < LongSeconds || bulkDelete(v, h) {
			continue
		}
		out = append(out, victimsOf(v, q, h))
	}
	return out
}

// bulkRows is from how many rows a call on a DELETE is one of many rows.
const bulkRows = 100

// bulkDelete reports whether the head works on a DELETE of many rows, which has a rule of its own with better advice.
func bulkDelete(v *advise.View, h head) bool {
	c, ok := v.Class(h.session.ClassID)
	if !ok {
		return false
	}
	sh, err := v.Shape(c)
	return err == nil && sh.Kind == shape.Delete && c.PerCall(c.Affected).Or(bulkRows) >= bulkRows
}

// scansToChange reports whether a class reads many rows for each that it changes: it locks all that it reads, and an
// index is the cure.
func scansToChange(v *advise.View, id string) bool {
	c, ok := v.Class(id)
	if !ok || c.Sampled {
		return false
	}
	sh, err := v.Shape(c)
	examined, counted := c.PerCall(c.Examined).Get()
	return err == nil && (sh.Kind == shape.Update || sh.Kind == shape.Delete) && counted &&
		examined >= bulkRows && examined >= 10*c.PerCall(c.Affected).Or(0)
}

func victimsOf(v *advise.View, q Queue, h head) finding.Finding {
	f := blame(v, q, h, "victim-query")
	does := "a statement whose text is unknown"
	if h.session.SQL != "" {
		does = Clip(h.session.SQL)
	}
	f.Title = fmt.Sprintf("%s active sessions wait for locks of %s, whose transaction has been open for %s",
		fewOf(h.waiters, q.Busy), Who(h.session, h.id), unit.Seconds(h.trx.Seconds))
	f.Cause = "The statements in the queue are not slow: they wait. One transaction took locks on rows that they " +
		"need, is still active, and keeps the locks until it ends."
	if h.session.ClassID != "" {
		f.Subject.Classes = []string{h.session.ClassID}
	}
	doing := finding.Evidence{
		What: "what it does", Value: known.Of(h.session.Seconds), Unit: "s", Source: source.Processlist, Sampled: true,
		Text: fmt.Sprintf("%s has run this for %s: %s.", Upper(Who(h.session, h.id)), unit.Seconds(h.session.Seconds),
			strings.TrimSuffix(does, ".")),
	}
	if h.session.Idle() {
		does = "it sends statements with pauses"
		doing.Value, doing.Unit = known.None[float64](), ""
		doing.Text = fmt.Sprintf("%s sends its statements with pauses: it was idle in %d of the %d samples in which "+
			"others waited for it, and worked between them. %s", Upper(Who(h.session, h.id)), h.asleep, h.seen,
			LastStatement(h.session))
	}
	f.Evidence = append([]finding.Evidence{doing}, f.Evidence...)
	f.Falsify = "Disproved if the waiting statements stay slow once that transaction has ended."
	f.Suggestion = fmt.Sprintf("Have that transaction commit earlier: in batches of some hundred rows, with slow "+
		"work such as computing or calls to other services before the first lock is "+
		"taken. If it must not continue now, kill it: %s. Leave the statements in the queue as they are.",
		v.Dialect.Kill(h.id))
	if h.session.User == "system user" {
		f.Suggestion = "It is the replication applier: do not kill it. Have the transaction commit earlier on the " +
			"source, in batches of some hundred rows, or keep the waiting statements off this replica."
	}
	f.Cost = "In batches the work is no longer all or nothing: it must be able to continue where it stopped. A KILL " +
		"rolls back what it has done so far" + undone(h.trx) + "."
	f.Reference = v.Dialect.Manual[advise.LongTransactions]
	if h.session.SQL == "" {
		f.Unobserved = append(f.Unobserved, "The text of its statement was not observed.")
	}
	var r Reasons
	r.Say("What looks slow?", source.Processlist, "%s active sessions.", fewOf(h.waiters, q.Busy))
	r.Say("Do they work or wait?", source.Locks, "They wait: in %d of %d samples %s was the root of a wait chain.",
		h.seen,
		q.Moments, Who(h.session, h.id))
	r.Say("Does the blocker wait as well?", source.Locks, "No, it is active: %s.", does)
	r.Say("How long has it held locks?", source.Transactions, "Its transaction has been open for %s.",
		unit.Seconds(h.trx.Seconds))
	f.Why = r
	return f
}
