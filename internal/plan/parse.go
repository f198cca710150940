package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// Options are what is said about a plan beside its text.
type Options struct {
	// File names the plan in problems; "plan" when it is empty.
	File string
	// Scale chooses one of the plan's scales. Empty, and "full" when the plan has no such scale, mean the plan as
	// written.
	Scale string
	// Axes replace the levels of axes, by their names: {"threads": ["1", "8"]}. Of an axis with levels of its own they
	// choose some.
	Axes map[string][]string
	// Set replaces values by their paths: {"trials.time": "5s", "budget": "10m"}. A value that
	// begins with "[" or "{" is YAML.
	Set map[string]string
	// Workloads are those that there are; nil means workload.All.
	Workloads []workload.Workload
	Words     Words // of the servers' family
}

// Parse reads a plan, fills in its defaults and checks it. Its error is a *Problems with everything that is wrong, on
// every scale of the plan. Problems with options name them as "--scale", "--axis NAME" and "--set PATH".
func Parse(text []byte, o Options) (Plan, error) {
	file := set("plan", o.File)
	if o.Workloads == nil {
		o.Workloads = workload.All()
	}
	root, problem := readYAML(text)
	if problem == nil && root.kind != mapping {
		problem = &Problem{Line: root.line, Column: root.column, Text: "a plan is a mapping (key: value), not " +
			root.what(), Hint: "it begins with dyno_plan: 1"}
	}
	if problem != nil {
		return Plan{}, &Problems{File: file, List: []Problem{*problem}}
	}
	if n := root.get("dyno_plan"); n != nil { // of a form that is not known nothing else can be judged
		r := newReader(o)
		if _, ok := formatForm().read(r, n, "dyno_plan"); !ok {
			return Plan{}, &Problems{File: file, List: tidy(r.problems)}
		}
	}
	p, problems := parse(root, o)
	if len(problems) > 0 {
		return Plan{}, &Problems{File: file, List: tidy(problems)}
	}
	return p, nil
}

func newReader(o Options) *reader {
	return &reader{
		where: map[string]*node{}, keys: map[string]*node{}, used: map[string]workload.Workload{},
		workloads: o.Workloads, words: o.Words,
	}
}

// tree is the plan on one scale.
type tree struct {
	scale string
	root  *node
	place *node // of problems with the plan as a whole
}

// parse reads the plan on all of its scales and returns the one that was asked for.
func parse(root *node, o Options) (chosen Plan, problems []Problem) {
	r := newReader(o)
	trees := []tree{{"", root.without("scale"), root}}
	seen := 0
	for _, e := range root.entries {
		if e.name != "scale" {
			continue
		}
		if seen++; seen > 1 {
			r.say(e.key, "scale", "", "is given twice")
			continue
		}
		if e.value.kind != mapping {
			r.say(e.value, "scale", "write small: with its changes below it", "takes a mapping (key: value), not %s",
				e.value.what())
			continue
		}
		for i, s := range e.value.entries {
			path := join("scale", s.name)
			switch {
			case !slices.Contains(scales, s.name):
				r.say(s.key, path, hintOf(s.name, scales), "unknown scale %q", short(s.name))
			case slices.ContainsFunc(e.value.entries[:i], func(b entry) bool { return b.name == s.name }):
				r.say(s.key, path, "", "is given twice")
			case s.value.kind != mapping && s.value.kind != nothing:
				r.say(s.value, path, "", "takes a mapping (key: value), not %s", s.value.what())
			default:
				trees = append(trees, tree{s.name, r.patched(trees[0].root, s.value, path), s.key})
			}
		}
	}
	at := slices.IndexFunc(trees, func(t tree) bool { return t.scale == o.Scale })
	if at < 0 && o.Scale == "full" {
		at = 0
	}
	if at < 0 {
		var have []string
		for _, t := range trees[1:] {
			have = append(have, t.scale)
		}
		hint := hintOf(o.Scale, have)
		if len(have) == 0 {
			hint = "the plan has none: leave --scale out"
		}
		r.say(&node{option: "--scale"}, "", hint, "unknown scale %q", short(o.Scale))
	}

	declared := map[string]map[string]bool{} // level names by axis, on any scale
	for _, t := range trees {
		for _, a := range o.Words.axisNodes(t.root) {
			if declared[a.name] == nil {
				declared[a.name] = map[string]bool{}
			}
			for _, l := range append(slices.Clone(a.levels.items), a.levels) {
				declared[a.name][levelText(l)] = true
			}
		}
	}
	var plain []Problem // of the plan as written; a scale tells only its own
	for i, t := range trees {
		one := newReader(o)
		var paths []string
		var others map[string][]string
		if i == at {
			others = o.Axes
			for _, name := range names(o.Axes) {
				levels := &node{kind: list, option: "--axis " + name}
				for _, v := range o.Axes[name] {
					levels.items = append(levels.items, &node{kind: scalar, text: v, option: levels.option})
				}
				t.root = one.replaceAxis(t.root, name, levels, levels, "")
			}
			paths = names(o.Set)
			for _, path := range paths {
				t.root = one.setPath(t.root, path, o.Set[path], "--set "+path)
			}
		}
		p := one.plan(t, declared, others, paths)
		for _, problem := range one.problems {
			said := problem
			if said.Option == "" && t.scale != "" {
				said.Text = "on scale " + t.scale + ": " + said.Text
			}
			if !slices.Contains(plain, problem) {
				r.problems = append(r.problems, said)
			}
		}
		if i == 0 {
			plain = one.problems
		}
		if i == at {
			chosen = p
			chosen.Scale = o.Scale
		}
	}
	return chosen, r.problems
}

// plan reads the plan on one scale.
func (r *reader) plan(t tree, declared map[string]map[string]bool, others map[string][]string, paths []string) Plan {
	var d draft
	into(r, t.root, "", r.words.planKeys(), &d)
	if t.root.get("dyno_plan") == nil {
		r.say(t.place, "", "write dyno_plan: 1 in the first line", "dyno_plan is missing")
	}
	if t.root.get("name") == nil {
		r.say(t.place, "", "", "name is missing")
	}
	if d.servers != nil {
		d.axes = append([]axis{*d.servers}, d.axes...)
	}
	r.overridden(paths, d.axes)
	r.checkOptions()
	r.checkAxes(&d, t.place)
	if slices.ContainsFunc(d.axes, func(a axis) bool { return a.broken }) {
		r.defaults(&d, nil, t.place)
		return d.Plan
	}
	d.lift()
	for _, a := range d.axes {
		d.Axes = append(d.Axes, a.Axis)
	}
	r.names(&d, declared, others)
	r.table(&d)
	if len(r.problems) > 0 { // of what follows most would be said of the same mistakes
		r.defaults(&d, nil, t.place)
		return d.Plan
	}
	r.baseline(&d)
	if d.Base.Run.Threads == 0 && d.runs() {
		d.Base.Run.Threads = 1
	}
	vs, err := d.variants()
	if err != nil {
		where := set(set(set(t.place, r.where["axes"]), r.where["baseline"]), r.where["skip"])
		r.say(where, "", "", "%v", err)
	}
	r.defaults(&d, vs, t.place)
	return d.Plan
}

// runs reports whether any variant runs a workload.
func (d *draft) runs() bool {
	return d.Base.Run.Workload != "" || slices.ContainsFunc(d.Axes, func(a Axis) bool {
		return slices.ContainsFunc(a.Levels, func(l Level) bool { return l.Config.Run.Workload != "" })
	})
}

// checkAxes looks at the axes beside each other.
func (r *reader) checkAxes(d *draft, place *node) {
	product := 1
	first := map[string]string{}
	targets := map[string]string{}
	for i, a := range d.axes {
		if a.Name != "" && first[a.Name] != "" {
			r.say(a.place, a.path, "give one of them a name:", "two axes are called %s", a.Name)
			d.axes[i].broken = true
		}
		if a.target != "" && a.target != "table_options" {
			if b := targets[a.target]; b != "" && b != a.Name {
				r.say(a.place, a.path, "", "the axes %s and %s set the same", b, a.Name)
			}
			targets[a.target] = a.Name
		}
		first[a.Name] = a.path + " "
		if product *= max(len(a.Levels), 1); product > MaxVariants {
			r.say(set(place, r.where["axes"]), "axes", "leave out levels", "the axes make more than %d variants",
				MaxVariants)
			d.axes[i].broken = true
			return
		}
	}
}

// names looks for the axes and levels that other parts of the plan name.
func (r *reader) names(d *draft, declared map[string]map[string]bool, others map[string][]string) {
	var axes []string
	for _, a := range d.Axes {
		axes = append(axes, a.Name)
	}
	check := func(path string, levels map[string]string, anyLevel bool, known func(a Axis, level string) bool) {
		for _, axis := range names(levels) {
			at := join(path, axis)
			i := slices.Index(axes, axis)
			if i < 0 {
				r.say(r.keys[at], at, r.axisHint(axis, axes), "unknown axis %q", short(axis))
				continue
			}
			if anyLevel || known(d.Axes[i], levels[axis]) {
				continue
			}
			var have []string
			for _, l := range d.Axes[i].Levels {
				have = append(have, l.Name)
			}
			r.say(r.where[at], at, hintOf(levels[axis], have), "axis %s has no level %q", axis, short(levels[axis]))
		}
	}
	now := func(a Axis, level string) bool {
		return slices.ContainsFunc(a.Levels, func(l Level) bool { return l.Name == level })
	}
	ever := func(a Axis, level string) bool { return now(a, level) || declared[a.Name][level] }
	for i, s := range d.Skip {
		check(r.item("skip", i), s, false, ever)
		if len(s) == 0 {
			r.say(r.where[r.item("skip", i)], "skip", "", "names no level")
		}
	}
	for i, p := range d.Prices {
		path := r.item("prices", i)
		check(join(path, "for"), p.For, false, ever)
		if r.where[join(path, "month")] == nil {
			r.say(r.where[path], path, "", "month is missing")
		}
		d.Prices[i].Currency = set("$", p.Currency)
	}
	for i, p := range d.Published {
		path := r.item("published", i)
		check(join(path, "for"), p.For, p.Absent != "", ever)
		if p.Text == "" {
			r.say(r.where[path], path, "", "text is missing")
		}
		if p.Hi != 0 && p.Hi < p.Lo {
			r.say(r.where[join(path, "hi")], join(path, "hi"), "", "is below lo")
		}
	}
	if d.baseline != nil {
		// Where other levels were asked for than the plan has, its baseline may be among those that fell out: the first
		// takes its place. One that was asked for, too, is not replaced.
		asked := r.where["baseline"] != nil && r.where["baseline"].option != ""
		replaced := func(axis, level string) bool {
			n := r.where[join("baseline", axis)]
			return others[axis] != nil && declared[axis][level] && !asked && (n == nil || n.option == "")
		}
		instead := func(a Axis) string {
			for i := range d.Published { // these are ratios to the plan's own
				d.Published[i].Lo, d.Published[i].Hi = 0, 0
			}
			return a.Levels[0].Name
		}
		check("baseline", d.baseline.levels, false, func(a Axis, level string) bool {
			return now(a, level) ||
				replaced(a.Name, level)
		})
		for _, a := range d.Axes {
			switch level, named := d.baseline.levels[a.Name]; {
			case len(a.Levels) == 0:
			case named && !now(a, level) && replaced(a.Name, level):
				d.baseline.levels[a.Name] = instead(a)
			case d.baseline.only != "" && !now(a, d.baseline.only) && replaced(a.Name, d.baseline.only) &&
				!slices.ContainsFunc(d.Axes, func(b Axis) bool { return now(b, d.baseline.only) }):
				d.baseline = &baseline{levels: map[string]string{a.Name: instead(a)}}
			}
		}
	}
}

func (r *reader) axisHint(name string, axes []string) string {
	if len(axes) == 0 {
		return "the plan has no axes"
	}
	return hintOf(name, axes)
}

// item is the path of one of several, which may have been written without a list.
func (r *reader) item(path string, i int) string {
	if n := r.where[path]; n != nil && n.kind != list {
		return path
	}
	return path + "[" + itoa(i) + "]"
}

// table settles rows and columns.
func (r *reader) table(d *draft) {
	t := &d.Table
	var axes []string
	for _, a := range d.Axes {
		axes = append(axes, a.Name)
	}
	in := map[string]string{}
	for _, side := range []struct {
		key  string
		list []string
	}{{"rows", t.Rows}, {"columns", t.Columns}} {
		for i, name := range side.list {
			path := r.item(side.key, i)
			switch {
			case !slices.Contains(axes, name):
				r.say(r.where[path], path, r.axisHint(name, axes), "unknown axis %q", short(name))
			case in[name] != "":
				r.say(r.where[path], path, "", "axis %s is in the table twice", name)
			}
			in[name] = side.key
		}
	}
	rest := slices.DeleteFunc(slices.Clone(axes), func(a string) bool { return in[a] != "" })
	switch rows, columns := r.where["rows"] != nil, r.where["columns"] != nil; {
	case rows && columns && len(rest) > 0:
		r.say(r.where["rows"], "rows", "name it in rows or columns", "axis %s is not in the table", rest[0])
	case rows:
		t.Columns = append(t.Columns, rest...)
	case columns:
		t.Rows = append(t.Rows, rest...)
	case len(axes) > 0:
		t.Rows, t.Columns = axes[:1:1], axes[1:]
	}
}

// baseline settles what cells are compared with.
func (r *reader) baseline(d *draft) {
	d.Baseline = map[string]string{}
	first := func(name string) {
		for _, a := range d.Axes {
			if a.Name == name {
				d.Baseline[name] = a.Levels[0].Name
			}
		}
	}
	switch b := d.baseline; {
	case b == nil && len(d.Table.Columns) > 0:
		for _, name := range d.Table.Columns {
			first(name)
		}
	case b == nil && len(d.Table.Rows) > 0:
		first(d.Table.Rows[len(d.Table.Rows)-1])
	case b == nil:
	case b.only == "":
		maps.Copy(d.Baseline, b.levels)
	default:
		var of, all []string
		for _, a := range d.Axes {
			for _, l := range a.Levels {
				all = append(all, l.Name)
				if l.Name == b.only {
					of = append(of, a.Name)
				}
			}
		}
		switch {
		case len(of) == 1:
			d.Baseline[of[0]] = b.only
		case len(of) > 1:
			r.say(r.where["baseline"], "baseline", "write baseline: {"+of[0]+": "+b.only+"}", "%q is a level of %s",
				b.only, strings.Join(of, " and "))
		case b.only == "none":
		default:
			r.say(r.where["baseline"], "baseline", hintOf(b.only, all), "no axis has a level %q", short(b.only))
		}
	}
	if len(d.Baseline) == 0 {
		d.Baseline = nil
	}
}
