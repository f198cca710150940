package plan

import (
	"fmt"
	"slices"

	"github.com/dyno-perf/dyno/internal/workload"
)

// workloadForm is the name of a workload that there is.
func workloadForm() form[string] {
	return form[string]{schema{"type": "string"}, func(r *reader, n *node, path string) (string, bool) {
		name, ok := anyText().read(r, n, path)
		if !ok {
			return "", false
		}
		w, err := workload.Find(r.workloads, name)
		if err != nil {
			all := make([]string, len(r.workloads))
			for i, w := range r.workloads {
				all[i] = w.Name()
			}
			r.strange = true
			r.say(n, path, hintOf(name, all), "unknown workload %q", short(name))
			return "", false
		}
		r.used[name] = w
		return name, true
	}}
}

// optionsForm are a workload's options. They are checked when all workloads of the plan are known.
func optionsForm() form[map[string]string] {
	f := texts("table-size: 100000", optionName, false)
	read := f.read
	f.read = func(r *reader, n *node, path string) (map[string]string, bool) {
		m, ok := read(r, n, path)
		if !ok || n.kind != mapping {
			return m, ok
		}
		for _, e := range n.entries {
			if name, bad, _ := optionName(e.name); bad == "" && e.value.kind == scalar {
				r.options = append(r.options, option{name, e.value.text, join(path, e.name), e.key, e.value})
			}
		}
		return m, ok
	}
	return f
}

// checkOptions looks whether the options that were given belong to a workload of the plan. Beside one that does not
// exist that is not known: its name alone is wrong.
func (r *reader) checkOptions() {
	if r.strange {
		return
	}
	var known []string
	for _, name := range names(r.used) {
		for _, o := range r.used[name].Options() {
			known = append(known, o.Name)
		}
	}
	for _, o := range r.options {
		switch {
		case len(r.used) == 0:
			r.say(o.key, o.path, "name one with workload:", "options belong to a workload, and the plan has none")
			return
		case !slices.Contains(known, o.name):
			r.say(o.key, o.path, hintNear(o.name, known), "unknown option %q of %s", short(o.name),
				oneAndMore(names(r.used)))
			continue
		}
		for _, name := range names(r.used) {
			options := r.used[name].Options()
			if !slices.ContainsFunc(options, func(k workload.Option) bool { return k.Name == o.name }) {
				continue
			}
			if _, err := workload.Settle(options, map[string]string{o.name: o.value}); err != nil {
				r.say(o.at, o.path, "", "%v", err)
				break
			}
		}
	}
}

// oneAndMore writes names one after the other.
func oneAndMore(names []string) string {
	switch n := len(names); n {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	default:
		return fmt.Sprintf("%s and %d more", names[0], n-1)
	}
}
