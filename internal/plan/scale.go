package plan

import (
	"fmt"
	"slices"
	"strings"
)

// scales are the names that a plan's scales may have.
var scales = []string{"small", "medium", "full"}

const patchRef = "#/$defs/patch"

// scaleKey is the key of the scales. It is taken out of the plan before that is read, so that its read does nothing.
func scaleKey() key[draft] {
	props := schema{}
	for _, s := range scales {
		props[s] = schema{"$ref": patchRef}
	}
	return key[draft]{
		name: "scale", about: "Other sizes of the plan by name, each what it changes: mappings are merged, other " +
			"values replaced, and axes take new levels by name.",
		schema: schema{"type": "object", "properties": props, "additionalProperties": false},
		read:   func(*reader, *node, string, *draft) {},
	}
}

// patchKeys are what a scale may change.
func (w Words) patchKeys() []key[draft] {
	keys := slices.DeleteFunc(w.planKeys(), func(k key[draft]) bool {
		return k.name == "dyno_plan" || k.name == "name"
	})
	for i := range keys {
		if keys[i].name == "axes" {
			keys[i].about = "New levels of axes, by the axis' name."
			keys[i].schema = schema{"type": "object", "additionalProperties": schema{"anyOf": []schema{
				{"type": []string{"string", "number", "boolean"}},
				{"type": "array", "items": schema{"anyOf": []schema{
					{"type": []string{"string", "number", "boolean"}},
					{"$ref": levelRef},
				}}},
			}}}
			keys[i].example = []any{map[string]any{"threads": []int{1, 4}}}
		}
	}
	return keys
}

// patched returns the plan with a scale's changes.
func (r *reader) patched(root, patch *node, path string) *node {
	keys := r.words.patchKeys()
	for _, e := range patch.entries {
		at := join(path, e.name)
		if i := slices.IndexFunc(keys, func(k key[draft]) bool { return k.name == e.name }); i < 0 {
			var all []string
			for _, k := range keys {
				all = append(all, k.name)
			}
			hint := hintNear(e.name, all)
			if e.name == "dyno_plan" || e.name == "name" || e.name == "scale" {
				hint = "it is the same on every scale"
			}
			r.say(e.key, at, hint, "a scale cannot change %q", short(e.name))
			continue
		}
		if e.name == "axes" {
			if e.value.kind != mapping {
				r.say(e.value, at, "write threads: [1, 4] below it", "takes a mapping (axis: [levels]), not %s",
					e.value.what())
				continue
			}
			for _, a := range e.value.entries {
				root = r.replaceAxis(root, a.name, a.key, a.value, join(at, a.name))
			}
			continue
		}
		root = root.with(e.name, e.key, merged(root.get(e.name), e.value))
	}
	return root
}

// merged lays one value over another: mappings key by key, anything else replaces what was there.
func merged(base, upper *node) *node {
	if base == nil || base.kind != mapping || upper.kind != mapping {
		return upper
	}
	for _, e := range upper.entries {
		base = base.with(e.name, e.key, merged(base.get(e.name), e.value))
	}
	return base
}

// axisNode is an axis in the plan's text.
type axisNode struct {
	name   string
	key    string // of the levels: "threads", "values", "levels"; "servers" at the plan's top
	item   int    // in axes; -1 for servers
	levels *node
}

// axisNodes finds the axes without judging them.
func (w Words) axisNodes(root *node) []axisNode {
	var out []axisNode
	if s := root.get("servers"); s != nil {
		out = append(out, axisNode{"server", "servers", -1, s})
	}
	axes := root.get("axes")
	if axes == nil {
		return out
	}
	for i, item := range axes.items {
		a := axisNode{item: i, key: "levels", levels: item.get("levels")}
		for _, s := range w.sugars() {
			v := item.get(s.key)
			switch {
			case v == nil:
				continue
			case s.named:
				a.name, a.key, a.levels = v.text, "values", item.get("values")
				if name, ok := s.name.read(&reader{}, v, ""); ok {
					a.name = name
				}
			default:
				a.name, a.key, a.levels = s.key, s.key, v
			}
			break
		}
		if n := item.get("name"); n != nil {
			a.name = n.text
		}
		if a.name != "" && a.levels != nil {
			out = append(out, a)
		}
	}
	return out
}

// replaceAxis returns the plan with other levels of one axis. Levels that were there keep what they set beside their
// value.
func (r *reader) replaceAxis(root *node, name string, key, levels *node, path string) *node {
	all := r.words.axisNodes(root)
	i := slices.IndexFunc(all, func(a axisNode) bool { return a.name == name })
	if i < 0 {
		var have []string
		for _, a := range all {
			have = append(have, a.name)
		}
		hint := hintOf(name, have)
		if len(have) == 0 {
			hint = "the plan has no axes"
		}
		r.say(key, path, hint, "unknown axis %q", short(name))
		return root
	}
	a := all[i]
	old := a.levels.items
	if a.levels.kind != list {
		old = []*node{a.levels}
	}
	want := levels.items
	if levels.kind == scalar || levels.kind == mapping {
		want = []*node{levels}
	}
	next := &node{kind: list, line: levels.line, column: levels.column, option: levels.option}
	for _, w := range want {
		if w.kind == scalar {
			known := make([]string, 0, len(old))
			was := slices.IndexFunc(old, func(o *node) bool {
				known = append(known, levelText(o))
				return levelText(o) == w.text
			})
			switch {
			case was >= 0 && old[was].kind == mapping:
				w = old[was]
			case was < 0 && a.key == "levels":
				r.say(w, path, hintOf(w.text, known), "axis %s has no level %q", name, short(w.text))
				continue
			}
		}
		next.items = append(next.items, w)
	}
	if a.item < 0 {
		return root.with(a.key, key, next)
	}
	axes := root.get("axes")
	copied := *axes
	copied.items = slices.Clone(axes.items)
	copied.items[a.item] = axes.items[a.item].with(a.key, key, next)
	return root.with("axes", key, &copied)
}

// levelText is what a level is called in the plan's text.
func levelText(n *node) string {
	if n.kind != mapping {
		return n.text
	}
	for _, key := range []string{"name", "value"} {
		if v := n.get(key); v != nil {
			return v.text
		}
	}
	return ""
}

// freeKeys are the mappings whose keys are not the plan's own words: in an option's path all that follows is one key.
var freeKeys = []string{"settings", "set", "options", "read", "predict", "baseline"}

// setPath returns the plan with one value set by an option.
func (r *reader) setPath(root *node, path, value, name string) *node {
	n := &node{kind: scalar, text: value, option: name}
	if value == "" {
		n.kind = nothing
	}
	if strings.HasPrefix(value, "[") || strings.HasPrefix(value, "{") {
		v, problem := readYAML([]byte(value))
		if problem != nil {
			r.say(n, "", problem.Hint, "%q: %s", short(value), problem.Text)
			return root
		}
		n = v.from(name)
	}
	var parts []string
	for rest := path; ; {
		part, after, more := strings.Cut(rest, ".")
		if part == "" || len(parts) > maxDepth {
			r.say(n, "", "such as trials.time=5s", "%q is not the path of a value", short(path))
			return root
		}
		parts = append(parts, part)
		if !more {
			break
		}
		if rest = after; slices.Contains(freeKeys, part) {
			parts = append(parts, rest)
			break
		}
	}
	switch parts[0] {
	case "axes", "servers":
		r.say(n, "", "use --axis NAME=VALUE,VALUE", "levels of axes are not set by path")
		return root
	case "dyno_plan", "scale":
		r.say(n, "", "", "%s cannot be set", parts[0])
		return root
	}
	if free := len(parts) - 2; free >= 0 && slices.Contains(freeKeys, parts[free]) {
		switch parts[free] { // one spelling, so that it takes the place of the plan's own
		case "settings", "set":
			if good, bad, _ := r.words.settingName(parts[free+1]); bad == "" {
				return r.place(root, append(parts[:free+1:free+1], good), n, r.words.settingName)
			}
		case "options":
			if good, bad, _ := optionName(parts[free+1]); bad == "" {
				return r.place(root, append(parts[:free+1:free+1], good), n, optionName)
			}
		}
	}
	return r.place(root, parts, n, nil)
}

// place sets the value at a path. spelling brings the keys of the last mapping to their one form.
func (r *reader) place(root *node, parts []string, n *node, spelling func(string) (string, string, string)) *node {
	if root != nil && root.kind == list {
		r.say(n, "", "give the whole list: PATH=[…, …]", "a list is in the way of %q", parts[0])
		return root
	}
	if root != nil && root.kind == scalar {
		root = nil
	}
	name := parts[0]
	if len(parts) > 1 {
		return root.with(name, n, r.place(root.get(name), parts[1:], n, spelling))
	}
	if spelling != nil && root != nil {
		for _, e := range root.entries {
			if good, bad, _ := spelling(e.name); bad == "" && good == name {
				name = e.name
			}
		}
	}
	return root.with(name, n, n)
}

// from returns a copy that comes from an option.
func (n *node) from(option string) *node {
	c := *n
	c.option = option
	c.items, c.entries = slices.Clone(n.items), slices.Clone(n.entries)
	for i := range c.items {
		c.items[i] = c.items[i].from(option)
	}
	for i := range c.entries {
		c.entries[i].key, c.entries[i].value = c.entries[i].key.from(option), c.entries[i].value.from(option)
	}
	return &c
}

// overridden tells of values set by an option that an axis sets anew on every level.
func (r *reader) overridden(paths []string, axes []axis) {
	for _, path := range paths {
		for _, a := range axes {
			if a.target != "" && spell(path) == a.target {
				r.say(&node{option: "--set " + path}, "", fmt.Sprintf("use --axis %s=VALUE,VALUE", a.Name),
					"the axis %s sets it on every level", a.Name)
			}
		}
	}
}

// spell brings a path to its one spelling.
func spell(path string) string {
	head, name, ok := strings.Cut(path, ".")
	if !ok {
		return path
	}
	switch head {
	case "settings", "set":
		name, _, _ = Words{}.settingName(name) // its words are of its hint
	case "options":
		name, _, _ = optionName(name)
	}
	return head + "." + name
}
