package session

import (
	"fmt"
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// blame writes what findings about one session in the way of others have in common.
func blame(v *advise.View, q Queue, h head, rule string) finding.Finding {
	part := q.Part(h.waiters)
	var refs []schema.Ref
	if h.kind != state.UserLock && h.kind != state.GlobalLock { // their names may look like a table's
		refs = tables(h.objects)
	}
	f := finding.Finding{
		Rule: rule, Confidence: finding.Certain, Severity: Severity(part), Share: part,
		Subject: finding.Subject{Tables: refs, Sessions: []uint64{h.id}},
		Explains: append([]string{advise.EffectRowLocks, advise.EffectRunning},
			ClassTimes(WaitingOnly(v, h.victims))...),
	}
	if h.seen < 3 {
		f.Confidence = finding.Likely
	}
	f.ID = finding.MakeID(rule, append([]string{Account(h.session)}, Names(refs)...)...)
	f.Evidence = []finding.Evidence{
		{
			What: "sessions that wait for " + Who(h.session, h.id), Value: known.Of(h.waiters), Expected: "0",
			Source: source.Locks, Sampled: true,
			Text: fmt.Sprintf("In %d of %d samples sessions waited for it, %s at a time on average and %d at most, "+
				"of %s active.", h.seen, q.Moments,
				unit.Count(Round(h.waiters)), h.most, unit.Count(Round(q.Busy))),
		},
		{
			What: "longest wait for it", Value: known.Of(h.longest), Unit: "s", Expected: fmt.Sprintf("< %g",
				LongSeconds), Source: source.Locks,
			Text: fmt.Sprintf("The longest observed wait was %s%s.", unit.Seconds(h.longest), on(h)),
		},
	}
	if h.trx.ID != "" {
		text := fmt.Sprintf("Its transaction has been open for %s", unit.Seconds(h.trx.Seconds))
		if n, ok := h.trx.Locks.Get(); ok {
			text += fmt.Sprintf(", holds about %s row locks", unit.Count(float64(n)))
		}
		if n, ok := h.trx.Modified.Get(); ok {
			text += fmt.Sprintf(" and has changed %s rows", unit.Count(float64(n)))
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "age of its transaction", Value: known.Of(h.trx.Seconds),
			Unit: "s", Source: source.Transactions, Text: text + ".",
		})
	}
	if h.kind == state.RowLock || h.kind == state.TableLock {
		f.Evidence = append(f.Evidence, LockCounters(v)...)
	}
	for i, id := range h.victims {
		if i == 3 {
			break
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "waits for it", Source: source.Processlist, Sampled: true,
			Text: "Blocked (victim): " + Told(v, id) + ".",
		})
	}
	f.Symptoms = SymptomIDs(v, h.victims, finding.LockQueue, finding.LockWaiting)
	if text := v.Blind(source.Transactions); text != "" {
		f.Unobserved = append(f.Unobserved, text)
	}
	f.Gain = WaitGain(part)
	return f
}

// on says what is waited for: " for shop.orders (PRIMARY)".
func on(h head) string {
	if len(h.objects) == 0 {
		return ""
	}
	s := ", for " + h.objects[0]
	if h.held != "" {
		s += " where it holds " + h.held
	}
	return s
}

func Names(refs []schema.Ref) (out []string) {
	for _, r := range refs {
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

// Severity is by the part of the sessions at work that stand still.
func Severity(part float64) finding.Severity {
	if part >= 0.5 {
		return finding.Critical
	}
	return finding.Warning
}

// WaitGain says what the end of a queue gives back: those who wait could work. How much they then get done is not
// known, so the range goes from no gain to all of their time.
func WaitGain(part float64) *finding.Gain {
	if part <= 0 {
		return nil
	}
	hi := 1 / max(1-part, 0.05)
	return &finding.Gain{
		What: "work done by the sessions", Lo: 1, Hi: hi,
		Text: fmt.Sprintf("%s of the active sessions are blocked. Without the block throughput rises up to %s; not "+
			"at all where other sessions took over their work, or where the CPUs are busy.",
			unit.Percent(part), unit.Ratio(hi)),
	}
}

// LockCounters are the server's own figures of row locks in the window.
func LockCounters(v *advise.View) (ev []finding.Evidence) {
	row := v.Dialect.RowLocks
	waits := v.Rate(row.Waits.Metric)
	if n, ok := waits.Get(); ok {
		text := fmt.Sprintf("%s began", unit.Rate(n, "waits for row locks a second"))
		if ms, ok := v.Rate(row.Millis.Metric).Get(); ok && n > 0 && ms > 0 {
			text += fmt.Sprintf(", and those that ended had taken %s each", unit.Seconds(ms/n/1000))
		}
		ev = append(ev, finding.Evidence{
			What: "row lock waits per second", Value: waits, Unit: "1/s",
			Source: source.GlobalStatus, Text: text + ".",
		})
	}
	if now := v.Mean(row.Current.Metric); now.OK() {
		ev = append(ev, finding.Evidence{
			What: row.Current.Name, Value: now, Source: source.GlobalStatus,
			Text: fmt.Sprintf("By the server's own count %s sessions at a time waited for row locks.",
				unit.Count(Round(now.Or(0)))),
		})
	}
	return ev
}

// SymptomIDs lists the symptoms of some kinds that are about the server or one of the classes.
func SymptomIDs(v *advise.View, classes []string, kinds ...finding.SymptomKind) (ids []string) {
	for _, s := range v.Symptoms {
		if slices.Contains(kinds, s.Kind) && (s.Kind != finding.LockWaiting || slices.Contains(classes, s.Subject)) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// Reasons makes the steps for --why.
type Reasons []finding.Reason

func (r *Reasons) Say(ask string, from source.Name, format string, args ...any) {
	*r = append(*r, finding.Reason{Ask: ask, Answer: fmt.Sprintf(format, args...), Source: from})
}

// waitsOf returns the mean number of sessions that wait for row locks by the server's own clock; unknown when it does
// not tell.
func waitsOf(v *advise.View) known.Value[float64] {
	ms, ok := v.Rate(v.Dialect.RowLocks.Millis.Metric).Get()
	if !ok {
		return known.None[float64]()
	}
	return known.Of(ms / 1000)
}

// Rows returns how many sessions wait for row locks at a time: what the moments show, or else the server's own clock.
func (q Queue) Rows(v *advise.View) (float64, bool) {
	if q.Moments > 0 && v.Seen(source.Locks) {
		return q.Waiting[state.RowLock], true
	}
	return waitsOf(v).Get()
}

// DeadlockRate is what retries hide without anybody's notice, 1/s: one every two seconds.
const DeadlockRate = 0.5

// Deadlocks returns deadlocks per second; ok is false when no counter of them was observed.
func Deadlocks(v *advise.View) (perSec float64, ok bool) {
	for _, name := range v.Dialect.Deadlocks {
		if n, ok := v.Rate(name).Get(); ok {
			return n, true
		}
	}
	return 0, false
}
