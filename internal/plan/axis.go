package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/unit"
)

// axis is an Axis as it is read.
type axis struct {
	Axis
	target string // path of the value that its levels set: "threads", "settings.sync_binlog"; "" for a general one
	place  *node
	path   string
	broken bool // something is wrong with its levels, which is told already
}

// sugar is a short way to write an axis.
type sugar struct {
	key   string
	about string
	named bool // the key's value names what is varied, and the levels are in values
	name  form[string]
	value schema
	// config is what a level of this value lays over the base.
	config func(r *reader, n *node, path, name string) (Config, bool)
	target func(name string) string
}

// plain makes the sugar of a value that one form reads.
func plain[V any](key, about, target string, f form[V], lay func(*Config, V)) sugar {
	return sugar{
		key: key, about: about, value: f.schema, target: func(string) string { return target },
		config: func(r *reader, n *node, path, _ string) (c Config, ok bool) {
			v, ok := f.read(r, n, path)
			if ok {
				lay(&c, v)
			}
			return c, ok
		},
	}
}

// sugars are all short ways to write an axis.
func (w Words) sugars() []sugar {
	text := anyText()
	all := []sugar{
		plain("server", "Servers.", "server", serverForm(), func(c *Config, v string) { c.Server = v }),
		plain("threads", "Numbers of sessions.", "threads", whole(1, maxThreads),
			func(c *Config, v int) { c.Run.Threads = v }),
		{
			key: "setting", about: "A setting of the server at its start; its values are in values.", named: true,
			name: nameForm(w.settingName), value: text.schema,
			config: func(r *reader, n *node, path, name string) (Config, bool) {
				v, ok := text.read(r, n, path)
				return Config{Settings: map[string]string{name: v}}, ok
			}, target: func(name string) string { return "settings." + name },
		},
		{
			key: "set", about: "A global variable set on the running server; its values are in values.", named: true,
			name: nameForm(w.settingName), value: text.schema,
			config: func(r *reader, n *node, path, name string) (Config, bool) {
				v, ok := text.read(r, n, path)
				return Config{Set: map[string]string{name: v}}, ok
			}, target: func(name string) string { return "set." + name },
		},
		plain("charset", "Character sets of the workload's tables, or collations.", "table_options", collationForm(),
			func(c *Config, v string) { c.TableOptions = []string{v} }),
		plain("collation", "Collations of the workload's tables, or character sets with their default one.",
			"table_options", collationForm(), func(c *Config, v string) { c.TableOptions = []string{v} }),
		plain("engine", "Storage engines of the workload's tables.", "options.mysql-storage-engine",
			matching(`^[A-Za-z][A-Za-z0-9_]{0,63}$`, "is not the name of an engine",
				strings.TrimPrefix(suchAs(w.Engine), ", ")),
			func(c *Config, v string) {
				c.Run.Options = map[string]string{"mysql-storage-engine": v}
			}),
		plain("page_size", w.Engine+"'s page sizes.", "settings."+w.PageSize, pageForm(), func(c *Config, v uint64) {
			c.Settings = map[string]string{w.PageSize: strconv.FormatUint(v, 10)}
		}),
		{
			key: "limit", about: "A limit; its values are in values, none among them.", named: true, name: limitName(),
			value:  schema{"type": []string{"string", "number"}},
			config: limitConfig, target: func(name string) string { return "limits." + name },
		},
		{
			key: "option", about: "An option of the workload; its values are in values.", named: true,
			name: nameForm(optionName), value: text.schema,
			config: func(r *reader, n *node, path, name string) (Config, bool) {
				v, ok := text.read(r, n, path)
				if ok {
					r.options = append(r.options, option{name, v, path, n, n})
				}
				return Config{Run: Run{Options: map[string]string{name: v}}}, ok
			}, target: func(name string) string { return "options." + name },
		},
		plain("workload", "Workloads.", "workload", workloadForm(), func(c *Config, v string) { c.Run.Workload = v }),
		plain("filesystem", "Filesystems that hold the data.", "filesystem", oneOf("ext4", "xfs", "btrfs"),
			func(c *Config, v string) { c.Filesystem = v }),
		plain("cpus", "CPUs that the server runs on.", "cpus", cpusForm(), func(c *Config, v string) { c.CPUs = v }),
	}
	return slices.DeleteFunc(all, func(s sugar) bool { return s.key == "page_size" && w.PageSize == "" })
}

func (w Words) sugarOf(key string) sugar {
	all := w.sugars()
	return all[slices.IndexFunc(all, func(s sugar) bool { return s.key == key })]
}

func nameForm(name func(string) (good, bad, hint string)) form[string] {
	return scalarForm(schema{"type": "string"}, name)
}

func limitName() form[string] {
	var all []string
	for _, k := range limitKeys() {
		all = append(all, k.name)
	}
	return oneOf(all...)
}

func limitConfig(r *reader, n *node, path, name string) (Config, bool) {
	var l limit.Limits
	if n.kind == scalar && n.text == "none" {
		return Config{}, true
	}
	before := len(r.problems)
	for _, k := range limitKeys() {
		if k.name == name {
			k.read(r, n, path, &l)
		}
	}
	return Config{Limits: l}, len(r.problems) == before
}

// lift takes a limit that an axis varies out of what the axis is laid over, the base and the axes before it: every
// level of the axis says what holds, none among them, and none sets nothing that could win over a limit below it.
func (d *draft) lift() {
	for i, a := range d.axes {
		name, ok := strings.CutPrefix(a.target, "limits.")
		if !ok {
			continue
		}
		d.Base.Limits = without(d.Base.Limits, name)
		for _, below := range d.axes[:i] {
			for l := range below.Levels {
				c := &below.Levels[l].Config
				c.Limits = without(c.Limits, name)
			}
		}
	}
}

// without returns limits less one of them.
func without(l limit.Limits, name string) limit.Limits {
	switch name {
	case limit.CPU:
		l.CPU = 0
	case limit.Memory:
		l.Memory = 0
	case limit.ReadIOPS:
		l.ReadIOPS = 0
	case limit.WriteIOPS:
		l.WriteIOPS = 0
	case limit.ReadBPS:
		l.ReadBPS = 0
	case limit.WriteBPS:
		l.WriteBPS = 0
	}
	return l
}

// pageForm is the size of a page.
func pageForm() form[uint64] {
	return scalarForm(schema{"type": []string{"string", "integer"}}, func(s string) (uint64, string, string) {
		switch v, err := unit.ParseSize(s); {
		case err != nil:
		case v == 4096, v == 8192, v == 16384, v == 32768, v == 65536:
			return v, "", ""
		}
		return 0, fmt.Sprintf("%q is not a page size", short(s)), "there is 4k, 8k, 16k, 32k, 64k"
	})
}

// collationForm reads a character set or a collation and returns the table options that choose it.
func collationForm() form[string] {
	f := matching(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`, "is not a character set or collation",
		"such as latin1 or utf8mb4_0900_ai_ci")
	read := f.read
	f.read = func(r *reader, n *node, path string) (string, bool) {
		v, ok := read(r, n, path)
		if !ok {
			return "", false
		}
		charset, _, collation := strings.Cut(v, "_")
		if !collation { // its default collation is the server's to know
			return "CHARACTER SET " + charset, true
		}
		return "CHARACTER SET " + charset + " COLLATE " + v, true
	}
	return f
}

// levelDraft is a level as it is read.
type levelDraft struct {
	Level
	value *node
}

// levelKeys are the keys of a level that is written as a mapping.
func (w Words) levelKeys() []key[levelDraft] {
	return append([]key[levelDraft]{
		at("name", "Names the level in the table.", anyText(), func(l *levelDraft) *string {
			return &l.Name
		}).or("its value"),
		{
			name: "value", about: "The level's value, on an axis that has one.",
			schema: schema{"type": []string{"string", "number", "boolean"}},
			read:   func(_ *reader, n *node, _ string, l *levelDraft) { l.value = n },
		},
	}, lift(w.configKeys(), func(l *levelDraft) *Config { return &l.Config })...)
}

// axisName checks the name of an axis: a variant's key is "axis=level,axis=level".
func axisName(s string) (bad, hint string) {
	if strings.ContainsAny(s, ",=") {
		return fmt.Sprintf("%q is not a name", short(s)), `an axis's name has no "," and "="`
	}
	return label(s)
}

// label checks the name of a level, which may be an expression or a list of columns.
func label(s string) (bad, hint string) {
	const rule = "a name has no control characters and is at most 80 characters long"
	switch {
	case s == "" || strings.TrimSpace(s) != s:
		return "is empty or begins or ends with a blank", ""
	case len(s) > 80, strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }):
		return fmt.Sprintf("%q is not a name", short(s)), rule
	}
	return "", ""
}

// level reads one level of an axis; s is nil for a general axis.
func (r *reader) level(n *node, path string, s *sugar, name string) (Level, bool) {
	var l levelDraft
	before := len(r.problems)
	switch {
	case n.kind == mapping:
		into(r, n, path, r.words.levelKeys(), &l)
	case s != nil:
		l.value = n
	default:
		r.say(n, path, "write - name: …, with what it sets below it", "takes a mapping (key: value), not %s", n.what())
		return Level{}, false
	}
	switch {
	case s == nil && l.value != nil:
		r.say(l.value, path+".value", "write what the level sets, such as settings:",
			"a level of an axis with levels has no value")
	case s != nil && l.value == nil:
		r.say(n, path, "", "value is missing: what %s is on this level", name)
	case s != nil:
		at := path
		if n.kind == mapping {
			at += ".value"
		}
		if c, ok := s.config(r, l.value, at, name); ok {
			l.Config = Merge(c, l.Config)
		}
	}
	if l.Name == "" && l.value != nil && l.value.kind == scalar {
		l.Name = l.value.text
		if bad, _ := label(l.Name); bad != "" && len(r.problems) == before {
			r.say(n, path, "write {name: …, value: …}", "the level needs a name: %q cannot be one", short(l.Name))
		}
	} else if bad, hint := label(l.Name); bad != "" && len(r.problems) == before {
		if l.Name == "" {
			bad = "name is missing"
		}
		r.say(n, path, hint, "%s", bad)
	}
	return l.Level, len(r.problems) == before
}

// axis reads one axis.
func (r *reader) axis(n *node, path string) (a axis) {
	a.place, a.path = n, path
	if n.kind != mapping {
		r.say(n, path, "such as - threads: [1, 2, 4]", "takes a mapping (key: value), not %s", n.what())
		a.broken = true
		return a
	}
	keys := []string{"name", "levels", "values"}
	var s *sugar
	all := r.words.sugars()
	for i := range all {
		keys = append(keys, all[i].key)
	}
	seen := map[string]*node{}
	var what *node // the value of the sugar's key
	for _, e := range n.entries {
		at := join(path, e.name)
		i := slices.IndexFunc(all, func(s sugar) bool { return s.key == e.name })
		switch {
		case !slices.Contains(keys, e.name):
			r.say(e.key, at, hintNear(e.name, keys), "unknown key %q", short(e.name))
			a.broken = true
		case seen[e.name] != nil:
			r.say(e.key, at, "", "is given twice, first in line %d", seen[e.name].line)
		case i >= 0 && s != nil:
			r.say(e.key, at, "make it a separate axis, or a general one with levels",
				"the axis varies %s already", s.key)
			a.broken = true
		case i >= 0:
			s, what = &all[i], e.value
		}
		seen[e.name] = e.key
		r.where[at] = e.value
	}
	levels, at := n.get("levels"), join(path, "levels")
	values, valuesAt := n.get("values"), join(path, "values")
	name := ""
	switch {
	case s == nil && values != nil:
		r.say(values, valuesAt, "say what they are values of: setting, set, limit or option", "values without a name")
		a.broken = true
	case s == nil && levels == nil:
		if !a.broken {
			r.say(n, path, "add levels: or one of "+strings.Join(keys[3:], ", "), "says nothing to vary")
		}
		a.broken = true
	case s == nil:
	case levels != nil:
		r.say(levels, at, "", "%s has its own levels: leave %s or levels out", s.key, s.key)
		a.broken = true
	case s.named:
		var ok bool
		if name, ok = s.name.read(r, what, join(path, s.key)); !ok {
			a.broken = true
			break
		}
		a.Name = name
		if values == nil {
			r.say(n, path, "such as values: [0, 1]", "values of %s are missing", name)
			a.broken = true
			break
		}
		levels, at = values, valuesAt
	default:
		name, a.Name = s.key, s.key
		if values != nil {
			r.say(values, valuesAt, fmt.Sprintf("write %s: [a, b]", s.key), "the values of %s follow it", s.key)
			a.broken = true
		}
		levels, at = what, join(path, s.key)
	}
	if given := n.get("name"); given != nil {
		if v, ok := anyText().read(r, given, join(path, "name")); ok {
			a.Name = v
		}
	} else if s == nil && !a.broken {
		r.say(n, path, "", "name is missing: an axis with levels needs one")
		a.broken = true
	}
	if bad, hint := axisName(a.Name); bad != "" && a.Name != "" {
		r.say(set(n, n.get("name")), path, hint, "%s", bad)
	}
	if a.broken || levels == nil {
		a.broken = true
		return a
	}
	if s != nil {
		a.target = s.target(name)
	}
	r.levels(&a, levels, at, s, name)
	return a
}

// levels reads the levels of an axis.
func (r *reader) levels(a *axis, n *node, path string, s *sugar, name string) {
	all := n.items
	switch n.kind {
	case scalar, mapping: // one level: a variant to be compared by another axis, or a value for --axis to replace
		all = []*node{n}
	case list, nothing:
	}
	if len(all) == 0 {
		r.say(n, path, "", "axis %s has no levels", a.Name)
		a.broken = true
		return
	}
	first := map[string]*node{}
	a.Numeric = s != nil
	for i, item := range all {
		at := path
		if n.kind == list {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		r.where[at] = item
		l, ok := r.level(item, at, s, name)
		if !ok {
			a.broken = true
		}
		if l.Name != "" && first[l.Name] != nil {
			r.say(item, at, "", "level %s of %s is given twice", l.Name, a.Name)
			a.broken = true
		}
		first[l.Name] = item
		if v, ok := amount(l.Name); ok && a.Numeric {
			l.Numeric = v
		} else {
			a.Numeric = false
		}
		a.Levels = append(a.Levels, l)
	}
	if !a.Numeric {
		for i := range a.Levels {
			a.Levels[i].Numeric = 0
		}
	}
}

const levelRef = "#/$defs/level"

// axesKey is the key of the axes.
func (w Words) axesKey() key[draft] {
	k := key[draft]{
		name: "axes", about: "What is varied: the variants are the product of the levels of all axes.",
		schema: schema{"type": "array", "items": w.axisSchema()},
		read: func(r *reader, n *node, path string, d *draft) {
			if n.kind != list {
				r.say(n, path, "write - threads: [1, 2, 4], one axis a line", "takes a list, not %s", n.what())
				d.axes = append(d.axes, axis{broken: true})
				return
			}
			for i, item := range n.items {
				d.axes = append(d.axes, r.axis(item, fmt.Sprintf("%s[%d]", path, i)))
			}
		},
	}
	axes := []any{map[string]any{"threads": []int{1, 2, 4}}}
	if w.Vary != "" {
		axes = append(axes, map[string]any{"setting": w.Vary, "values": []int{0, 1}})
	}
	return k.eg(axes)
}

// serversKey is the short way to write an axis of servers.
func (w Words) serversKey() key[draft] {
	s := w.sugarOf("server")
	return key[draft]{
		name: "servers", about: "Several servers: the same as an axis \"server\" before the others.",
		schema: levelsSchema(s), example: []any{[]string{"mysql@9.7", "mariadb@10.11"}},
		read: func(r *reader, n *node, path string, d *draft) {
			a := axis{Axis: Axis{Name: s.key}, target: s.target(""), place: n, path: path}
			r.levels(&a, n, path, &s, s.key)
			d.servers = &a
		},
	}
}

// levelsSchema is that of the levels of a sugared axis.
func levelsSchema(s sugar) schema {
	one := schema{"anyOf": []schema{s.value, {"$ref": levelRef}}}
	return schema{"anyOf": []schema{s.value, {"type": "array", "minItems": 1, "items": one}}}
}

func (w Words) axisSchema() schema {
	props := schema{
		"name": schema{"type": "string", "description": "Names the axis in the table. Default: what it varies."},
		"levels": schema{
			"type": "array", "minItems": 1, "items": schema{"$ref": levelRef},
			"description": "The levels of a general axis: each has a name and may set anything that a plan sets at " +
				"its top.",
		},
		"values": schema{
			"type": []string{"array", "string", "number", "boolean"}, "description": "The values of setting, set, " +
				"limit or option.",
			"items": schema{"anyOf": []schema{{"type": []string{"string", "number", "boolean"}}, {"$ref": levelRef}}},
		},
	}
	kinds := []schema{{"required": []string{"name", "levels"}}}
	for _, s := range w.sugars() {
		var p schema
		required := []string{s.key}
		if s.named {
			p = schema{"type": "string"}
			if s.key == "limit" {
				p = schema{"enum": limitName().schema["enum"]}
			}
			required = append(required, "values")
		} else {
			p = levelsSchema(s)
		}
		p["description"] = s.about
		props[s.key] = p
		kinds = append(kinds, schema{"required": required})
	}
	return schema{"type": "object", "properties": props, "additionalProperties": false, "oneOf": kinds}
}
