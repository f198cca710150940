package trial

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/plan"
)

// cause is a part of a configuration that a fact may depend on.
type cause struct {
	why string
	of  func(plan.Config) string
}

const (
	bySetting = "set by the plan"
	byServer  = "comes with the server"
	byStep    = "set by a step of the plan"
)

// Causes is what is known of the variables of one family's servers. The zero value knows nothing.
type Causes struct {
	Family string // its name
	// Follows lists variables that servers derive, by what they are derived from; "*" at the end stands for any rest.
	Follows map[string][]string
	Aliases [][2]string // variables that servers show under two names or that changed theirs
	// ByMachine are variables that servers size by the CPUs and the memory that they are allowed.
	ByMachine []string
	Server    map[string][]Cause // of facts of the server itself, by name
	// Plain returns the variable that an option of the server's start sets, in lower case with "_"; nil stands for the
	// option's own name.
	Plain func(option string) string
}

// Cause is a setting that decides a fact. The setting may hold one "*".
type Cause struct {
	Setting string
	Follows bool // the server derives the fact from it
}

// knowledge is what is known of the variables of a plan's servers.
type knowledge map[string]Causes // by Config.Server

// plain returns the variable that an option sets in a variant.
func (k knowledge) plain(c plan.Config, option string) string {
	if f := k[c.Server].Plain; f != nil {
		return f(option)
	}
	return option
}

// families returns one Causes of each family.
func (k knowledge) families() (all []Causes) {
	for _, server := range slices.Sorted(maps.Keys(k)) {
		if !slices.ContainsFunc(all, func(c Causes) bool { return c.Family == k[server].Family }) {
			all = append(all, k[server])
		}
	}
	return all
}

// written are the words by which a shell step would set a fact of the machine, besides the fact's own name.
var written = map[string][]string{
	"transparent_huge_page_enabled": {"transparent_hugepage/enabled"},
	"transparent_huge_page_defrag":  {"transparent_hugepage/defrag"},
	"huge_pages":                    {"nr_hugepages"},
	"queue_depth":                   {"nr_requests"},
	"turbo":                         {"no_turbo", "cpufreq/boost"},
	"clock_source":                  {"current_clocksource"},
	"read_ahead_kb":                 {"blockdev --setra"},
	"mount_options":                 {"mount -o"},
	"swap":                          {"swapon", "swapoff"},
	"swap_bytes":                    {"swapon", "swapoff"},
}

// causesOf lists what a fact may depend on, the nearest first.
func (k knowledge) causesOf(d Difference) (cs []cause) {
	place := cause{bySetting, func(c plan.Config) string { return c.CPUs }}
	server := cause{byServer, func(c plan.Config) string { return c.Server }}
	switch d.Group {
	case "variable":
		cs = append(cs, k.setting(d.Name, bySetting))
		all := k.families()
		for _, f := range all {
			for _, a := range f.Aliases {
				for i := range a {
					if a[i] == d.Name {
						cs = append(cs, k.setting(a[1-i], bySetting))
					}
				}
			}
		}
		cs = append(cs, server, step(d.Name))
		for _, f := range all {
			for _, parent := range slices.Sorted(maps.Keys(f.Follows)) {
				if slices.ContainsFunc(f.Follows[parent], func(p string) bool { return like(p, d.Name) }) {
					cs = append(cs, k.setting(parent, "follows "+parent))
				}
			}
			if slices.Contains(f.ByMachine, d.Name) {
				cs = append(cs, cause{"follows the CPUs and the memory allowed", func(c plan.Config) string {
					return fmt.Sprint(c.Limits.CPU, c.Limits.Memory, c.CPUs)
				}})
			}
		}
	case "server":
		cs = append(cs, server)
		for _, f := range k.families() {
			for _, x := range f.Server[d.Name] {
				why := bySetting
				if x.Follows {
					why = "follows " + x.Setting
				}
				cs = append(cs, k.setting(x.Setting, why))
			}
		}
		if d.Name == "affinity" || d.Name == "numa_mems" {
			cs = append(cs, place)
		}
		cs = append(cs, step(d.Name))
	case "limit":
		cs = append(cs, cause{bySetting, func(c plan.Config) string {
			l := c.Limits
			switch d.Name {
			case "cpu":
				return fmt.Sprint(l.CPU)
			case "memory":
				return fmt.Sprint(l.Memory)
			case "read_iops":
				return fmt.Sprint(l.ReadIOPS)
			case "write_iops":
				return fmt.Sprint(l.WriteIOPS)
			case "read_bps":
				return fmt.Sprint(l.ReadBPS)
			case "write_bps":
				return fmt.Sprint(l.WriteBPS)
			}
			return ""
		}})
	case "storage":
		cs = append(cs, cause{bySetting, func(c plan.Config) string { return c.Filesystem }}, step(d.Name))
	case "client": // it gets the CPUs that the server leaves
		if d.Name == "affinity" || d.Name == "numa_mems" {
			cs = append(cs, place)
		}
		cs = append(cs, step(d.Name))
	default:
		cs = append(cs, step(d.Name))
	}
	return cs
}

// setting is a variable of the server, set at its start or later. Name may hold one "*".
func (k knowledge) setting(name, why string) cause {
	return cause{why, func(c plan.Config) string {
		var s []string
		for _, m := range []map[string]string{c.Settings, c.Set} {
			for option, v := range m {
				if set := k.plain(c, option); like(name, set) {
					s = append(s, set+"="+v)
				}
			}
			s = append(s, "")
		}
		slices.Sort(s)
		return strings.Join(s, "\n")
	}}
}

// step is whatever the variant's own steps do that name a fact.
func step(name string) cause {
	return cause{byStep, func(c plan.Config) string {
		var s []string
		for _, st := range slices.Concat(c.Before, c.After) {
			text := strings.ToLower(st.SQL + st.Shell)
			if slices.ContainsFunc(append([]string{name}, written[name]...), func(w string) bool {
				return strings.Contains(text, w)
			}) {
				s = append(s, text)
			}
		}
		return strings.Join(s, "\n")
	}}
}

func like(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
