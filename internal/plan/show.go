package plan

import "slices"

// measured returns the names of the values that Dyno itself measures. Package trial says what they are.
func measured() []string {
	return []string{
		"tps", "qps", "mean_ms", "p50_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms", "ms", "rows_read",
		"server_cpu_us_per_op", "client_cpu_us_per_op", "cs_per_op", "read_kb_per_op", "write_kb_per_op",
		"written_bytes_data", "written_bytes_doublewrite", "written_bytes_redo", "written_bytes_binlog",
		"written_bytes_device",
		"data_bytes", "low_share", "client_cpu_share", "steal_share", "iowait_share", "server_cpu_cores",
		"other_cpu_cores", "cpu_speed",
	}
}

// show settles and checks the values of a cell.
func (r *reader) show(d *draft, vs []Variant, kind string) {
	var known, normal []string
	add := func(name string) {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	for _, v := range vs {
		for _, p := range v.Config.Probe {
			prefix := ""
			if len(v.Config.Probe) > 1 {
				prefix = p.Name + "."
			}
			add(prefix + "ms")
			add(prefix + "rows_read")
		}
	}
	if kind == probing {
		normal = slices.Clone(known)
	}
	for _, v := range vs {
		for _, name := range names(v.Config.Read) {
			add(name)
		}
	}
	switch kind {
	case reading:
		normal = slices.Clone(known)
	case running:
		normal = []string{"tps", "p95_ms"}
	}
	if r.where["show"] == nil || len(d.Table.Show) == 0 {
		d.Table.Show = normal
		return
	}
	texts := map[string]bool{}
	for _, v := range vs { // what comes along, and is shown only when asked for
		for _, p := range v.Config.Probe {
			prefix := ""
			if len(v.Config.Probe) > 1 {
				prefix = p.Name + "."
			}
			add(prefix + "rows_sent")
			for _, n := range []string{"filesort", "plan"} {
				texts[prefix+n] = texts[prefix+n] || !slices.Contains(known, prefix+n)
				add(prefix + n)
			}
		}
		for _, n := range names(v.Config.Predict) {
			add(n + "_predicted")
			for _, suffix := range []string{"_check", "_why"} {
				texts[n+suffix] = texts[n+suffix] || !slices.Contains(known, n+suffix)
				add(n + suffix)
			}
		}
	}
	known = append(known, measured()...)
	for i, name := range d.Table.Show {
		path := r.item("show", i)
		switch {
		case slices.Index(d.Table.Show, name) < i:
			r.say(r.where[path], path, "", "%s is shown twice", name)
		case !slices.Contains(known, name):
			r.say(r.where[path], path, hintNear(name, known), "unknown value %q", short(name))
		case i == 0 && texts[name] && compares(d.Trials, vs):
			number := normal[0]
			for _, n := range d.Table.Show[1:] {
				if slices.Contains(known, n) && !texts[n] {
					number = n
					break
				}
			}
			r.say(r.where[path], path, "put a number first, such as "+number, "%s is a text, and the first value is "+
				"what is compared", name)
		}
	}
}

// compares reports whether any verdict comes of the trials: fewer than three rounds have none.
func compares(t Trials, vs []Variant) bool {
	return t.Max >= 3 && (!t.NoControl || slices.ContainsFunc(vs, func(v Variant) bool { return v.Baseline != v.Key }))
}
