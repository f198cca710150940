package sources

import (
	"reflect"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
)

// TestSourcesAskOnTheLinkOfTheirCost: two goroutines read light and heavy sources, each on a link of its own.
func TestSourcesAskOnTheLinkOfTheirCost(t *testing.T) {
	p := partsOf(&target.Target{})
	light, heavy := reflect.ValueOf(p.Light).Pointer(), reflect.ValueOf(p.Heavy).Pointer()
	var links func(v reflect.Value, depth int) (all []uintptr)
	links = func(v reflect.Value, depth int) (all []uintptr) {
		switch {
		case depth > 4 || !v.IsValid():
		case v.Type() == reflect.TypeFor[*link]():
			all = append(all, v.Pointer())
		case (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) && !v.IsNil():
			all = links(v.Elem(), depth+1)
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				all = append(all, links(v.Field(i), depth+1)...)
			}
		}
		return all
	}
	for _, e := range p.Entries {
		want := light
		if e.Cost == scrape.Heavy {
			want = heavy
		}
		all := links(reflect.ValueOf(e.Source), 0)
		if (len(all) == 0) != (e.Cost == scrape.Free) {
			t.Errorf("%s, %s, asks on %d links", e.Source.Name(), e.Cost, len(all))
		}
		for _, l := range all {
			if l != want {
				t.Errorf("%s, %s, asks on the other link", e.Source.Name(), e.Cost)
			}
		}
	}
}
