package trial

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/plan"
)

// groups in the order in which they are told.
var groups = []string{"machine", "kernel", "storage", "client", "server", "limit", "variable"}

// names are facts that name a thing rather than describe it: each sandbox has a control group of its own, and what that
// allows is told in group "limit". They are never a difference.
var names = map[string]bool{"server.cgroup": true, "client.cgroup": true, "server.unit": true, "client.unit": true}

const (
	absent    = "(none)"    // the server has no such variable, the machine no such part
	unknown   = "(unknown)" // it was not readable
	mostTexts = 5           // different values of one variant that are told
	between   = " | "       // stands between them
)

// Differences sets the environments of variants, by Variant.Key, against each other. A fact is
//
//   - part of same when it is equal in all trials;
//   - explained when it is a function of what the plan varies and what that brings along: settings, limits, the
//     filesystem, another server
//     with all its variables, variables that a server derives from one that is set. Difference.Why says which;
//   - else part of also: something that nobody meant to vary. So is one that was not the same in all trials of one
//     variant (Varied), such as
//     a governor that was changed meanwhile, unless the variant's own steps set it.
//
// An environment that lacks a whole group says nothing about it. Both lists are in the order machine, kernel, storage,
// client, server, limit, variable, and by name. know returns what is known of the variables of a Config.Server.
func Differences(
	vs []plan.Variant, envs map[string][]Environment, know func(server string) Causes,
) (same Environment, also, explained []Difference) {
	f := gather(envs)
	same = f.same()
	config, known := map[string]plan.Config{}, knowledge{}
	for _, v := range vs {
		config[v.Key] = v.Config
		known[v.Config.Server] = know(v.Config.Server)
	}
	for _, d := range f.differences() {
		if !d.Varied {
			d.Why = known.explain(d, config)
		}
		if d.Why != "" {
			explained = append(explained, d)
		} else {
			also = append(also, d)
		}
	}
	return same, also, explained
}

// Apart sets what two results ran on against each other, variant by variant: what differs between the variants of one
// result alone is no difference between the two. Keys are the variants that both have. Same are the facts that were the
// same in all trials of all these. What differs in all of them alike is told by the results' names, anything else by
// those that name gives the sides of a variant, 0 and 1. A fact that was not the same in all trials of a variant
// (Varied) is told, whatever it was on the other side.
func Apart(
	a, b Result, results [2]string, keys []string, name func(key string, side int) string,
) (same Environment, differ []Difference) {
	grounds := [2]ground{groundOf(a), groundOf(b)}
	all := byName{}
	for _, g := range grounds {
		all.add(g.env)
		for _, d := range g.differ {
			all.find(d.Group, d.Name)
		}
	}
	var both factSet
	for _, f := range all.sorted() {
		var known [2]bool
		for _, key := range keys {
			for side, g := range grounds {
				if vs := g.values(f, key); vs != nil {
					f.values[name(key, side)], known[side] = vs, true
				}
			}
		}
		if known[0] && known[1] {
			both = append(both, f)
		}
		if d, ok := f.apart(results, keys, name); ok && !names[f.group+"."+f.name] {
			differ = append(differ, d)
		}
	}
	return both.same(), differ
}

// ground is what the variants of one result ran on.
type ground struct {
	env    Environment           // in all its trials
	differ map[string]Difference // between them, by "group.name"
	looked map[string]bool       // groups that are known
}

func groundOf(r Result) ground {
	g := ground{env: r.Env, differ: map[string]Difference{}, looked: map[string]bool{}}
	for group := range r.Env.Facts {
		g.looked[group] = true
	}
	for _, ds := range [][]Difference{r.AlsoDiffers, r.Explained} {
		for _, d := range ds {
			g.differ[d.Group+"."+d.Name], g.looked[d.Group] = d, true
		}
	}
	return g
}

// values are those that a fact had in the trials of a variant; nil when nobody looked.
func (g ground) values(f *fact, key string) []string {
	k := f.group + "." + f.name
	if d, ok := g.differ[k]; ok {
		v, ok := d.Values[key]
		switch {
		case !ok:
			return nil
		case d.Varied:
			return strings.Split(v, between)
		}
		return []string{v}
	}
	if v, ok := g.env.Facts[f.group][f.name]; ok {
		return []string{v}
	}
	if _, missed := g.env.Unknown[k]; missed {
		return []string{unknown}
	}
	if g.looked[f.group] {
		return []string{absent}
	}
	return nil
}

// apart sets the two sides of variants against each other; false when they differ nowhere.
func (f *fact) apart(results [2]string, keys []string, name func(key string, side int) string) (Difference, bool) {
	d := Difference{Group: f.group, Name: f.name, Values: map[string]string{}}
	var last [2]string
	known, alike := 0, 0 // variants that are known on both sides; those that differ as the last one does
	for _, key := range keys {
		x, y := f.values[name(key, 0)], f.values[name(key, 1)]
		if x == nil || y == nil {
			continue
		}
		known++
		now := [2]string{strings.Join(x, between), strings.Join(y, between)}
		d.Values[name(key, 0)], d.Values[name(key, 1)] = now[0], now[1]
		varied := len(x) > 1 || len(y) > 1
		d.Varied = d.Varied || varied
		switch {
		case now[0] == now[1] && !varied:
		case now == last:
			alike++
		default:
			last, alike = now, 1
		}
	}
	if alike > 0 && alike == known {
		d.Values = map[string]string{results[0]: last[0], results[1]: last[1]}
	}
	return d, alike > 0
}

// fact is one name of one group, with the values it had in each variant, without repetition.
type fact struct {
	group, name string
	values      map[string][]string
	reason      string // why it is unknown, in the first trial in which it is
}

type factSet []*fact

// byName are facts by "group.name".
type byName map[string]*fact

// find returns a fact, a new one when there is none.
func (all byName) find(group, name string) *fact {
	k := group + "." + name
	if all[k] == nil {
		all[k] = &fact{group: group, name: name, values: map[string][]string{}}
	}
	return all[k]
}

// add adds the names of an environment's facts, and why some are unknown.
func (all byName) add(e Environment) {
	for group, m := range e.Facts {
		for name := range m {
			all.find(group, name)
		}
	}
	for k, why := range e.Unknown {
		group, name, ok := strings.Cut(k, ".")
		if !ok {
			continue
		}
		if f := all.find(group, name); f.reason == "" || why < f.reason {
			f.reason = why
		}
	}
}

// gather sorts all facts of all environments by name.
func gather(envs map[string][]Environment) factSet {
	all := byName{}
	for _, es := range envs {
		for _, e := range es {
			all.add(e)
		}
	}
	for key, es := range envs {
		for _, e := range es {
			for k, f := range all {
				v, ok := e.Facts[f.group][f.name]
				_, missed := e.Unknown[k]
				switch {
				case ok:
				case missed:
					v = unknown
				case e.Facts[f.group] == nil: // nobody looked
					continue
				default:
					v = absent
				}
				if !slices.Contains(f.values[key], v) {
					f.values[key] = append(f.values[key], v)
				}
			}
		}
	}
	return all.sorted()
}

func (all byName) sorted() factSet {
	out := slices.Collect(maps.Values(all))
	rank := func(group string) int {
		if i := slices.Index(groups, group); i >= 0 {
			return i
		}
		return len(groups)
	}
	slices.SortFunc(out, func(a, b *fact) int {
		return cmp.Or(cmp.Compare(rank(a.group), rank(b.group)), strings.Compare(a.group, b.group),
			strings.Compare(a.name, b.name))
	})
	return out
}

// one returns the value that all have.
func (f *fact) one() (string, bool) {
	first, has := "", false
	for _, vs := range f.values {
		for _, v := range vs {
			if has && v != first {
				return "", false
			}
			first, has = v, true
		}
	}
	return first, has
}

func (fs factSet) same() Environment {
	e := Environment{Facts: map[string]map[string]string{}}
	for _, f := range fs {
		v, ok := f.one()
		switch {
		case !ok:
		case v == unknown:
			if e.Unknown == nil {
				e.Unknown = map[string]string{}
			}
			e.Unknown[f.group+"."+f.name] = cmp.Or(f.reason, "it was not readable")
		case v != absent:
			if e.Facts[f.group] == nil {
				e.Facts[f.group] = map[string]string{}
			}
			e.Facts[f.group][f.name] = v
		}
	}
	return e
}

func (fs factSet) differences() (out []Difference) {
	for _, f := range fs {
		if _, ok := f.one(); ok || len(f.values) == 0 || names[f.group+"."+f.name] {
			continue
		}
		d := Difference{Group: f.group, Name: f.name, Values: map[string]string{}}
		for key, vs := range f.values {
			d.Varied = d.Varied || len(vs) > 1
			if len(vs) > mostTexts {
				vs = append(slices.Clone(vs[:mostTexts]), "…")
			}
			d.Values[key] = strings.Join(vs, between)
		}
		out = append(out, d)
	}
	return out
}

// explain says why a fact differs, "" when what the plan varies does not account for it: variants that agree in all its
// causes must agree in the fact.
func (k knowledge) explain(d Difference, config map[string]plan.Config) string {
	causes := k.causesOf(d)
	keys := slices.Sorted(maps.Keys(d.Values))
	mark := func(key string) string { // the causes' values of one variant
		var b strings.Builder
		for _, c := range causes {
			b.WriteString(c.of(config[key]))
			b.WriteByte(0)
		}
		return b.String()
	}
	byMark := map[string]string{}
	for _, key := range keys {
		m := mark(key)
		if v, ok := byMark[m]; ok && v != d.Values[key] {
			return ""
		}
		byMark[m] = d.Values[key]
	}
	var why []string
	for _, c := range causes {
		first := c.of(config[keys[0]])
		if slices.ContainsFunc(keys, func(key string) bool { return c.of(config[key]) != first }) &&
			!slices.Contains(why, c.why) {
			why = append(why, c.why)
		}
	}
	// A variable that is set explains itself, and a server all of its variables: what else could have acted is not
	// worth telling.
	for _, only := range []string{bySetting, byServer} {
		if slices.Contains(why, only) {
			return only
		}
	}
	return strings.Join(why, ", ")
}
