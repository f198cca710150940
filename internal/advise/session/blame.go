package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// blame writes what findings about one session in the way of others have in common.
func blame(v *advise.View, q queue, h head, rule string) finding.Finding {
	part := q.part(h.waiters)
	refs := tables(h.objects)
	f := finding.Finding{
		Rule: rule, Confidence: finding.Certain, Severity: severity(part), Share: part,
		Subject: finding.Subject{Tables: refs, Sessions: []uint64{h.id}},
		Explains: append([]string{advise.EffectRowLocks, advise.EffectRunning},
			classTimes(waitingOnly(v, h.victims))...),
	}
	if h.seen < 3 {
		f.Confidence = finding.Likely
	}
	f.ID = finding.MakeID(rule, append([]string{account(h.session)}, names(refs)...)...)
	f.Evidence = []finding.Evidence{
		{
			What: "sessions that wait for " + who(h.session, h.id), Value: known.Of(h.waiters), Expected: "0",
			Source: source.Locks, Sampled: true,
			Text: fmt.Sprintf("In %d of %d samples sessions waited for it, %s at a time on average and %d at most, "+
				"of %s active.", h.seen, q.moments,
				unit.Count(round1(h.waiters)), h.most, unit.Count(round1(q.busy))),
		},
		{
			What: "longest wait for it", Value: known.Of(h.longest), Unit: "s", Expected: fmt.Sprintf("< %g",
				longSeconds), Source: source.Locks,
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
	f.Evidence = append(f.Evidence, lockCounters(v)...)
	for i, id := range h.victims {
		if i == 3 {
			break
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "waits for it", Source: source.Processlist, Sampled: true,
			Text: "Blocked (victim): " + told(v, id) + ".",
		})
	}
	f.Symptoms = symptomIDs(v, h.victims, finding.LockQueue, finding.LockWaiting)
	if text := v.Blind(source.Transactions); text != "" {
		f.Unobserved = append(f.Unobserved, text)
	}
	f.Gain = waitGain(part)
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

func names(refs []schema.Ref) (out []string) {
	for _, r := range refs {
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

// severity is by the part of the sessions at work that stand still.
func severity(part float64) finding.Severity {
	if part >= 0.5 {
		return finding.Critical
	}
	return finding.Warning
}

// waitGain says what the end of a queue gives back: those who wait could work. How much they then get done is not
// known, so the range goes from no gain to all of their time.
func waitGain(part float64) *finding.Gain {
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

// lockCounters are the server's own figures of row locks in the window.
func lockCounters(v *advise.View) (ev []finding.Evidence) {
	waits := v.Status("Innodb_row_lock_waits")
	if n, ok := waits.Get(); ok {
		text := fmt.Sprintf("%s began", unit.Rate(n, "waits for row locks a second"))
		if ms, ok := v.Status("Innodb_row_lock_time").Get(); ok && n > 0 && ms > 0 {
			text += fmt.Sprintf(", and those that ended had taken %s each", unit.Seconds(ms/n/1000))
		}
		ev = append(ev, finding.Evidence{
			What: "row lock waits per second", Value: waits, Unit: "1/s",
			Source: source.GlobalStatus, Text: text + ".",
		})
	}
	if now := v.Mean("mysql_global_status_innodb_row_lock_current_waits"); now.OK() {
		ev = append(ev, finding.Evidence{
			What: "Innodb_row_lock_current_waits", Value: now, Source: source.GlobalStatus,
			Text: fmt.Sprintf("By the server's own count %s sessions at a time waited for row locks.",
				unit.Count(round1(now.Or(0)))),
		})
	}
	return ev
}

// symptomIDs lists the symptoms of some kinds that are about the server or one of the classes.
func symptomIDs(v *advise.View, classes []string, kinds ...finding.SymptomKind) (ids []string) {
	for _, s := range v.Symptoms {
		if slices.Contains(kinds, s.Kind) && (s.Kind != finding.LockWaiting || slices.Contains(classes, s.Subject)) {
			ids = append(ids, s.ID)
		}
	}
	return ids
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

// reasons makes the steps for --why.
type reasons []finding.Reason

func (r *reasons) say(ask string, from source.Name, format string, args ...any) {
	*r = append(*r, finding.Reason{Ask: ask, Answer: fmt.Sprintf(format, args...), Source: from})
}

// waitsOf returns the mean number of sessions that wait for row locks by the server's own clock; unknown when it does
// not tell.
func waitsOf(v *advise.View) known.Value[float64] {
	ms, ok := v.Status("Innodb_row_lock_time").Get()
	if !ok {
		return known.None[float64]()
	}
	return known.Of(ms / 1000)
}

// rows returns how many sessions wait for row locks at a time: what the moments show, or else the server's own clock.
func (q queue) rows(v *advise.View) (float64, bool) {
	if q.moments > 0 && v.Seen(source.Locks) {
		return q.waiting[state.RowLock], true
	}
	return waitsOf(v).Get()
}
