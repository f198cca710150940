package session

import (
	"maps"
	"slices"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Holder is a session that holds a lock which others wait for.
type Holder struct {
	Kind    state.WaitKind
	Object  string        // what they wait for most, "" where that is not known
	Held    string        // how it holds it, as the server words it
	Session state.Session // the latest that was seen of it
	Waiters string        // "3.6 of 8" active sessions
	Waiting []string      // statements of those that wait
}

// Held returns a finding of a rule for each session that is in the way of others for long with a lock that no end of a
// transaction releases. explain says what such a lock is, what to do about it and what would refute it; it returns
// false where another rule is about it.
func Held(v *advise.View, rule string, explain func(Holder, *finding.Finding) bool) (out []finding.Finding) {
	q := Queues(v)
	for _, h := range q.heads {
		if !q.long(h) || !h.named(v) {
			continue
		}
		x := Holder{Kind: h.kind, Held: h.held, Session: h.session, Waiters: fewOf(h.waiters, q.Busy)}
		if x.Session.ID == 0 { // it was not among those that were seen
			x.Session.ID = h.id
		}
		if len(h.objects) > 0 {
			x.Object = h.objects[0]
		}
		for _, id := range slices.Sorted(maps.Keys(h.queue)) {
			x.Waiting = append(x.Waiting, q.last[id].SQL)
		}
		f := blame(v, q, h, rule)
		f.Explains = append([]string{advise.EffectRunning}, ClassTimes(h.victims)...)
		if h.kind == state.MetadataLock {
			f.Explains = append(f.Explains, advise.EffectMetadata)
		}
		if h.session.ClassID != "" && AtWork(h.session) {
			f.Subject.Classes = []string{h.session.ClassID}
			f.Explains = append(f.Explains, advise.ClassTime(h.session.ClassID))
		}
		does := "What it does was not observed."
		switch {
		case h.session.Idle():
			does = "It has sent nothing for " + unit.Seconds(h.session.Seconds) + ". " + LastStatement(h.session)
		case h.session.SQL != "":
			does = "It has run this for " + unit.Seconds(h.session.Seconds) + ": " + Clip(h.session.SQL) + "."
		}
		f.Evidence = slices.Insert(f.Evidence, 1, finding.Evidence{
			What: "what the holder does", Source: source.Processlist,
			Text: Upper(Who(h.session, h.id)) + ": " + does,
		})
		if !explain(x, &f) {
			continue
		}
		var r Reasons
		r.Say("Do sessions wait?", source.Locks, "In %d of %d samples, %s sessions at a time.", h.seen, q.Moments,
			x.Waiters)
		r.Say("Who holds what they wait for?", source.Locks, "%s, which does not wait.", Upper(Who(h.session, h.id)))
		r.Say("What does it do?", source.Processlist, "%s", does)
		f.Why = r
		out = append(out, f)
	}
	return out
}
