package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/trial"
)

// decisive returns what of two plans differs and decides the figures: "trials.time: 20s, 10s". How often a trial is
// repeated does not, nor do seeds, margins, prices, layout, or which CPUs a placement came out as.
func decisive(a, b trial.Result, keys []string) (ds []string) {
	of := func(p plan.Plan) any {
		return map[string]any{
			"database": p.Database, "value": Value(p), "placement": cmp.Or(p.Placement.Mode, plan.Split),
			"trials": map[string]any{
				"time": p.Trials.Time, "turns": p.Trials.Turns, "fresh": p.Trials.Fresh,
				"settle": p.Trials.Settle, "drop_caches": p.Trials.DropCaches,
			},
		}
	}
	ds = unlike("", of(a.Plan), of(b.Plan))
	// What differs in all variants alike is told once.
	where := map[string][]string{}
	var order []string
	for _, key := range keys {
		for _, d := range unlike("", config(a.Variants, key), config(b.Variants, key)) {
			if where[d] == nil {
				order = append(order, d)
			}
			where[d] = append(where[d], key)
		}
	}
	for _, d := range order {
		if len(where[d]) < len(keys) {
			d += " (" + some(where[d]) + ")"
		}
		ds = append(ds, d)
	}
	return ds
}

// warming is what matters less.
func warming(p plan.Plan) any {
	return map[string]any{"warm_min": p.Trials.WarmMin, "warm_max": p.Trials.WarmMax}
}

func config(vs []plan.Variant, key string) any {
	i := slices.IndexFunc(vs, func(v plan.Variant) bool { return v.Key == key })
	return vs[i].Config
}

// unlike lists the paths at which the JSON forms of two values differ, with both.
func unlike(path string, a, b any) []string {
	return unlikeTrees(path, tree(a), tree(b))
}

func unlikeTrees(path string, a, b any) (ds []string) {
	am, aok := a.(map[string]any)
	bm, bok := b.(map[string]any)
	if (aok || a == nil) && (bok || b == nil) && (aok || bok) {
		all := map[string]bool{}
		for k := range am {
			all[k] = true
		}
		for k := range bm {
			all[k] = true
		}
		for _, k := range slices.Sorted(maps.Keys(all)) {
			p := k
			if path != "" {
				p = path + "." + k
			}
			ds = append(ds, unlikeTrees(p, am[k], bm[k])...)
		}
		return ds
	}
	x, y := leaf(a), leaf(b)
	if x == y {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s, %s", path, x, y)}
}

func tree(v any) (t any) {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&t) != nil {
		return string(text)
	}
	return t
}

// leaf writes one value for people, a long one shortened.
func leaf(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		if v == "" {
			return "nothing"
		}
		return v
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
