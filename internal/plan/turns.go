package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Of turns: what they are when the plan does not say, and what they may be.
const (
	usualTurn   = Duration(200 * time.Millisecond)
	leastTurn   = Duration(50 * time.Millisecond)
	longestTurn = Duration(time.Minute)
	leastGuard  = Duration(20 * time.Millisecond)
)

// Guard is how much of the beginning of each turn is left out of the figures: what was under way at the switch, and
// what the server takes to feel it. It is 0 without turns.
func (t Trials) Guard() Duration {
	if t.Turns <= 0 {
		return 0
	}
	return max(leastGuard, t.Turns/10)
}

// measuring is how long the measurement of a trial takes, with what is left out of the figures.
func (t Trials) measuring() Duration {
	if t.Turns <= 0 {
		return t.Time
	}
	one := t.Turns - t.Guard()
	return (t.Time + one - 1) / one * t.Turns
}

// turns settles whether the variants of a round take turns under one load. Without a word it is so where they differ in
// CPU quotas alone: the kernel takes away or gives within its period, and nothing lingers.
func (r *reader) turns(d *draft, vs []Variant, kind string, writes bool) {
	t := &d.Trials
	asked := d.turns != nil
	n := r.where["trials.turns"]
	say := func(hint, format string, args ...any) { r.say(n, "trials.turns", hint, format, args...) }
	if asked {
		t.Turns = *d.turns
	}
	switch {
	case asked && t.Turns <= 0:
		t.Turns = 0
		return
	case asked && (t.Turns < leastTurn || t.Turns > longestTurn):
		say(fmt.Sprintf("from %v to %v, or 0 for none", leastTurn, longestTurn), "turns of %v cannot be", t.Turns)
		return
	case vs == nil:
		return
	case kind != running:
		if asked && kind != "" {
			say("leave it out", "only variants of a workload take turns")
		}
		return
	}
	if !asked {
		fresh := t.Fresh == FreshLive || t.Fresh == "" && !writes
		if fresh && quotasAlone(vs) && !t.Settle && !t.DropCaches && t.Time >= 3*usualTurn {
			t.Turns, t.Fresh = usualTurn, FreshLive
		}
		return
	}
	const leave = "leave turns out, then each variant has its own trials"
	switch why := weavable(vs); {
	case why != "":
		say(leave, "variants that take turns share one server under one load: %s", why)
	case t.Fresh != "" && t.Fresh != FreshLive:
		say("leave out turns or fresh: "+string(t.Fresh), "interleaved variants share one server that is not "+
			"restarted (fresh: live)")
	case t.Settle || t.DropCaches:
		say("leave out turns, or settle and drop_caches", "between turns nothing is waited for and nothing dropped")
	case t.Time < 3*t.Turns:
		say("", "a trial of %v has fewer than 3 turns of %v", t.Time, t.Turns)
	default:
		t.Fresh = FreshLive
	}
}

// weavable says why the variants cannot take turns under one load; empty when they can.
func weavable(vs []Variant) string {
	rest := func(c Config) string {
		c.Limits.CPU, c.Set = 0, nil
		text, err := json.Marshal(c)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	first := vs[0].Config
	for _, v := range vs {
		c := v.Config
		switch {
		case len(c.Before)+len(c.After) > 0:
			return "steps before and after a trial have no place between turns"
		case len(c.Read) > 0:
			return "values that are read after a trial would be those of all variants"
		case c.Limits.Memory != first.Limits.Memory || c.Limits.IO() != first.Limits.IO():
			return "limits of memory and of disks are felt long after they are changed"
		case rest(c) != rest(first):
			return fmt.Sprintf("%s and %s differ in more than the CPU quota and variables of the running server (set)",
				vs[0].Key, v.Key)
		case !slices.Equal(names(c.Set), names(first.Set)):
			return fmt.Sprintf("%s sets %s, %s sets %s: every variant must set the same variables, because nothing "+
				"else resets them", vs[0].Key, list1(names(first.Set)), v.Key, list1(names(c.Set)))
		}
	}
	return ""
}

func list1(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " and ")
}

// quotasAlone reports whether the variants differ, and in nothing but CPU quotas.
func quotasAlone(vs []Variant) bool {
	differ := false
	for _, v := range vs {
		if !maps.Equal(v.Config.Set, vs[0].Config.Set) {
			return false
		}
		differ = differ || v.Config.Limits.CPU != vs[0].Config.Limits.CPU
	}
	return differ && weavable(vs) == ""
}
