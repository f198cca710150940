package trial

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"dyno/internal/plan"
)

// groups in the order in which they are told.
var groups = []string{"machine", "kernel", "storage", "client", "server", "limit", "variable"}

// names are facts that name a thing rather than describe it: each sandbox has a control group of its own, and what that allows is told
// in group "limit". They are never a difference.
var names = map[string]bool{"server.cgroup": true, "client.cgroup": true, "server.unit": true, "client.unit": true}

const (
	absent    = "(none)"    // the server has no such variable, the machine no such part
	unknown   = "(unknown)" // it was not readable
	mostTexts = 5           // different values of one variant that are told
)

// Differences sets the environments of variants, by Variant.Key, against each other. A fact is
//
//   - part of same when it is equal in all trials;
//   - explained when it is a function of what the plan varies and what that brings along: settings, limits, the filesystem, another server
//     with all its variables, variables that a server derives from one that is set. Difference.Why says which;
//   - else part of also: something that nobody meant to vary. So is one that was not the same in all trials of one variant (Varied), such as
//     a governor that was changed meanwhile, unless the variant's own steps set it.
//
// An environment that lacks a whole group says nothing about it. Both lists are in the order machine, kernel, storage, client, server,
// limit, variable, and by name.
func Differences(vs []plan.Variant, envs map[string][]Environment) (same Environment, also, explained []Difference) {
	f := gather(envs)
	same = f.same()
	config := map[string]plan.Config{}
	for _, v := range vs {
		config[v.Key] = v.Config
	}
	for _, d := range f.differences() {
		if !d.Varied {
			d.Why = explain(d, config)
		}
		if d.Why != "" {
			explained = append(explained, d)
		} else {
			also = append(also, d)
		}
	}
	return same, also, explained
}

// Between sets environments against each other that belong to nobody's plan, such as those of two machines, by name.
func Between(envs map[string]Environment) (same Environment, differ []Difference) {
	many := map[string][]Environment{}
	for k, e := range envs {
		many[k] = []Environment{e}
	}
	f := gather(many)
	return f.same(), f.differences()
}

// fact is one name of one group, with the values it had in each variant, without repetition.
type fact struct {
	group, name string
	values      map[string][]string
	reason      string // why it is unknown, in the first trial in which it is
}

type factSet []*fact

// gather sorts all facts of all environments by name.
func gather(envs map[string][]Environment) factSet {
	all := map[string]*fact{}
	find := func(group, name string) *fact {
		k := group + "." + name
		if all[k] == nil {
			all[k] = &fact{group: group, name: name, values: map[string][]string{}}
		}
		return all[k]
	}
	for _, es := range envs {
		for _, e := range es {
			for group, m := range e.Facts {
				for name := range m {
					find(group, name)
				}
			}
			for k, why := range e.Unknown {
				group, name, ok := strings.Cut(k, ".")
				if !ok {
					continue
				}
				if f := find(group, name); f.reason == "" || why < f.reason {
					f.reason = why
				}
			}
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
	out := slices.Collect(maps.Values(all))
	rank := func(group string) int {
		if i := slices.Index(groups, group); i >= 0 {
			return i
		}
		return len(groups)
	}
	slices.SortFunc(out, func(a, b *fact) int {
		return cmp.Or(cmp.Compare(rank(a.group), rank(b.group)), strings.Compare(a.group, b.group), strings.Compare(a.name, b.name))
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
			e.Unknown[f.group+"."+f.name] = f.reason
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
			d.Values[key] = strings.Join(vs, " | ")
		}
		out = append(out, d)
	}
	return out
}

// explain says why a fact differs, "" when what the plan varies does not account for it: variants that agree in all its causes must
// agree in the fact.
func explain(d Difference, config map[string]plan.Config) string {
	causes := causesOf(d)
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
	for _, k := range keys {
		m := mark(k)
		if v, ok := byMark[m]; ok && v != d.Values[k] {
			return ""
		}
		byMark[m] = d.Values[k]
	}
	var why []string
	for _, c := range causes {
		first := c.of(config[keys[0]])
		if slices.ContainsFunc(keys, func(k string) bool { return c.of(config[k]) != first }) && !slices.Contains(why, c.why) {
			why = append(why, c.why)
		}
	}
	// A variable that is set explains itself, and a server all of its variables: what else could have acted is not worth telling.
	for _, only := range []string{bySetting, byServer} {
		if slices.Contains(why, only) {
			return only
		}
	}
	return strings.Join(why, ", ")
}
