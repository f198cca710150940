package plan

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

func itoa(i int) string { return strconv.Itoa(i) }

// what a trial does.
const (
	running = "workload"
	probing = "probe"
	reading = "read"
)

// does says what the trials of a config do.
func does(c Config) string {
	switch {
	case c.Run.Workload != "":
		return running
	case len(c.Probe) > 0:
		return probing
	case len(c.Read) > 0:
		return reading
	}
	return ""
}

// defaults fills in what is not said, and checks every variant. vs is nil when there are problems already: then only
// what the plan says itself is looked at.
func (r *reader) defaults(d *draft, vs []Variant, place *node) {
	d.Database = set("lab", d.Database)
	d.Placement.Mode = set(Split, d.Placement.Mode)
	kind := ""
	if vs != nil {
		kind = r.variants(vs, place)
	} else if d.runs() {
		kind = running
	}
	writes := false
	if kind == running && vs != nil {
		writes = r.build(vs, place)
	}

	t := &d.Trials
	t.Seed, t.Margin, t.Conf = 1, set(0.02, t.Margin), set(0.95, t.Conf)
	if d.seed != nil {
		t.Seed = *d.seed
	}
	rounds, fresh := reach[int]{5, 10}, FreshServer
	switch kind {
	case running:
		t.Time, t.WarmMin, t.WarmMax = Duration(20*time.Second), Duration(3*time.Second), Duration(20*time.Second)
		if d.time != nil {
			t.Time = *d.time
		}
		if d.warm != nil {
			t.WarmMin, t.WarmMax = d.warm.least, d.warm.most
		}
		if d.rounds != nil && d.rounds.least < 3 {
			r.say(r.where["trials.rounds"], "trials.rounds", "an interval needs 3",
				"%d rounds are too few for a workload", d.rounds.least)
		}
		if writes {
			fresh = FreshData
		}
	case probing, reading:
		rounds, fresh = reach[int]{3, 3}, FreshNone
		if kind == reading {
			rounds = reach[int]{1, 1}
			t.NoControl = true
		}
		for _, key := range []string{"trials.time", "trials.warmup"} {
			if n := r.where[key]; n != nil && n.kind != nothing {
				r.say(n, key, "leave it out", "only a workload has it; %s has not",
					map[string]string{probing: "a probe", reading: "a value that is read"}[kind])
			}
		}
	}
	if stepsDiffer(vs) {
		fresh = FreshData
	}
	if d.rounds != nil {
		rounds = *d.rounds
	}
	r.turns(d, vs, kind, writes)
	t.Min, t.Max, t.Fresh = rounds.least, rounds.most, set(fresh, t.Fresh)
	if d.control != nil {
		t.NoControl = !*d.control
	}
	if vs != nil && kind != "" {
		r.show(d, vs, kind)
		r.budget(d, vs)
	}
}

// variants checks what every variant does, and returns what that is.
func (r *reader) variants(vs []Variant, place *node) (kind string) {
	said := map[string]bool{}
	say := func(path, hint, text string, v Variant) {
		if said[text] {
			return
		}
		said[text] = true
		if len(vs) > 1 {
			text = "variant " + v.Key + ": " + text
		}
		where := place
		if n := r.where[path]; n != nil {
			where = n
		} else {
			path = ""
		}
		r.say(where, path, hint, "%s", text)
	}
	for _, v := range vs {
		c := v.Config
		switch k := does(c); {
		case k == "":
			say("", "add one of workload, probe and read", "there is nothing to measure", v)
		case kind != "" && kind != k:
			say("", "make two plans", "it does a "+k+", others a "+kind+": they cannot be compared", v)
		default:
			kind = k
		}
		if c.Run.Workload != "" && len(c.Probe) > 0 {
			say("probe", "leave one of them out; data: {workload: …} gives probes tables",
				"a trial runs a workload or probes, not both", v)
		}
		if c.Server == "" {
			say("", "give it server: or servers:, such as mysql@9.7", "no server is named", v)
		}
		if c.Run.Workload == "" {
			for _, key := range []struct {
				name string
				set  bool
			}{
				{"threads", c.Run.Threads != 0},
				{"db_ps_mode", c.Run.PSMode != ""},
				{"ignore_errors", len(c.Run.Ignore) > 0},
			} {
				if key.set {
					say(key.name, "name one with workload:", key.name+" belongs to a workload, and there is none", v)
				}
			}
			if w, o := c.Prepared(); w == "" && len(o)+len(c.TableOptions) > 0 {
				say("options", "name one with workload: or data: {workload: …}", "options belong to a workload, and "+
					"there is none", v)
			}
		}
		seen := map[string]bool{}
		for _, p := range c.Probe {
			switch {
			case p.Name == "":
				say("probe", "", "a probe has no name", v)
			case p.SQL == "":
				say("probe", "", "probe "+p.Name+" has no sql", v)
			case seen[p.Name]:
				say("probe", "", "two probes are called "+p.Name, v)
			}
			seen[p.Name] = true
		}
		for _, name := range names(c.Predict) {
			if _, ok := c.Read[name]; !ok {
				say("predict", hintOf(name, names(c.Read)), "predict names "+strconv.Quote(short(name))+
					", which is not read", v)
			}
		}
	}
	return kind
}

// stepsDiffer reports whether variants do different things before or after their trials. What a step does to the data
// of one, the next one would find, the control too, so that nothing would show it.
func stepsDiffer(vs []Variant) bool {
	return slices.ContainsFunc(vs, func(v Variant) bool {
		c, first := v.Config, vs[0].Config
		return !slices.Equal(c.Before, first.Before) || !slices.Equal(c.After, first.After)
	})
}

// maxTables bounds the tables of all workloads that are built to check their options: what is left is checked option by
// option only.
const maxTables = 200_000

// build tries the workloads of all variants with their options, and reports whether any of them writes.
func (r *reader) build(vs []Variant, place *node) (writes bool) {
	tried, said, tables := map[string]bool{}, map[string]bool{}, 0
	try := func(v Variant, name string, options map[string]string, runs bool) {
		w := r.used[name]
		key := name
		for _, o := range names(options) {
			key += "\x00" + o + "=" + options[o]
		}
		if w == nil || tried[key] {
			return
		}
		tried[key] = true
		var p *workload.Plan
		settled, err := workload.Settle(w.Options(), options)
		if err == nil {
			n, _ := strconv.Atoi(settled["tables"])
			if tables += n; tables > maxTables {
				return
			}
			p, err = w.Build(options)
		}
		if err != nil {
			if text := err.Error(); !said[text] {
				said[text] = true
				if len(vs) > 1 {
					text = "variant " + v.Key + ": " + text
				}
				path := "workload"
				var o *workload.OptionError
				if errors.As(err, &o) && r.where["options."+o.Option] != nil {
					path = "options." + o.Option
				}
				r.say(set(place, r.where[path]), path, "", "%s", text)
			}
			return
		}
		writes = writes || runs && slices.ContainsFunc(p.Statements, func(s workload.Statement) bool {
			return s.Kind == workload.Write
		})
	}
	for _, v := range vs {
		try(v, v.Config.Run.Workload, v.Config.Run.Options, true)
		name, options := v.Config.Prepared()
		try(v, name, options, false)
	}
	return writes
}
