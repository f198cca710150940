package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxVariants is how many variants a plan may have, the skipped ones included.
const MaxVariants = 2000

// tableOptions is the workload's option that the TableOptions of a Config end up in.
const tableOptions = "create-table-options"

// Variants returns the product of the axes less what is skipped, the first axis changing slowest, each with its config
// and with the key of its baseline. It fails when there are none or too many, and when the baseline of one is skipped
// or does not exist.
func (p Plan) Variants() ([]Variant, error) {
	vs, err := p.variants()
	if err != nil {
		return nil, fmt.Errorf("expand plan: %w", err)
	}
	return vs, nil
}

func (p Plan) variants() ([]Variant, error) {
	n := 1
	for _, a := range p.Axes {
		if len(a.Levels) == 0 {
			return nil, fmt.Errorf("axis %s has no levels", a.Name)
		}
		if n *= len(a.Levels); n > MaxVariants {
			return nil, fmt.Errorf("the axes make more than %d variants", MaxVariants)
		}
	}
	vs := make([]Variant, 0, n)
	at := make([]int, len(p.Axes)) // of each axis, the level
	for range n {
		v := Variant{Config: Merge(Config{}, p.Base)}
		if len(at) > 0 {
			v.Levels = make(map[string]string, len(at))
		}
		for i, a := range p.Axes {
			v.Levels[a.Name] = a.Levels[at[i]].Name
			v.Config = Merge(v.Config, a.Levels[at[i]].Config)
		}
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < len(p.Axes[i].Levels) {
				break
			}
			at[i] = 0
		}
		if p.skips(v.Levels) {
			continue
		}
		v.Key = p.key(v.Levels)
		v.Config.fold()
		vs = append(vs, v)
	}
	if len(vs) == 0 {
		return nil, errors.New("skip leaves no variant")
	}
	have := make(map[string]bool, len(vs))
	for _, v := range vs {
		if have[v.Key] {
			return nil, fmt.Errorf("two variants are called %s", v.Key)
		}
		have[v.Key] = true
	}
	for i := range vs {
		levels := maps.Clone(vs[i].Levels)
		for axis, level := range p.Baseline {
			if _, ok := levels[axis]; ok {
				levels[axis] = level
			}
		}
		if vs[i].Baseline = p.key(levels); !have[vs[i].Baseline] {
			why := "does not exist"
			if p.skips(levels) {
				why = "is skipped"
			}
			return nil, fmt.Errorf("the baseline of %s would be %s, which %s; skip both or name another "+
				"baseline", vs[i].Key, vs[i].Baseline, why)
		}
	}
	return vs, nil
}

// skips reports whether a variant of these levels is left out.
func (p Plan) skips(levels map[string]string) bool {
	return slices.ContainsFunc(p.Skip, func(skip map[string]string) bool { return len(skip) > 0 && has(levels, skip) })
}

// has reports whether levels has all of those in want.
func has(levels, want map[string]string) bool {
	for axis, level := range want {
		if got, ok := levels[axis]; !ok || got != level {
			return false
		}
	}
	return true
}

// key names the variant of these levels.
func (p Plan) key(levels map[string]string) string {
	if len(p.Axes) == 0 {
		return "base"
	}
	parts := make([]string, len(p.Axes))
	for i, a := range p.Axes {
		parts[i] = a.Name + "=" + levels[a.Name]
	}
	return strings.Join(parts, ",")
}

// fold moves the table options into the workload's options.
func (c *Config) fold() {
	if len(c.TableOptions) == 0 {
		return
	}
	into := &c.Run.Options
	if _, own := c.Data.Options[tableOptions]; own {
		into = &c.Data.Options
	}
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[tableOptions] = strings.TrimSpace((*into)[tableOptions] + " " + strings.Join(c.TableOptions, " "))
	c.TableOptions = nil
}

// Prepared returns the workload whose tables the data are made of, and its options; "" when there are none. Options
// given for the run hold for the data too, and those given for the data win.
func (c Config) Prepared() (workload string, options map[string]string) {
	return set(c.Run.Workload, c.Data.Workload), both(c.Run.Options, c.Data.Options)
}
