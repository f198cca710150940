package recipe

import (
	"errors"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/workload"
)

// TestRecipes reads every recipe at every scale; whatever is wrong with one is told here and not to a user.
func TestRecipes(t *testing.T) {
	all, err := All(workload.All(), plan.Words{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"charset", "functional-index", "index-order", "pool-resize", "threads", "versions"}
	if len(all) < len(want) {
		t.Fatalf("%d recipes", len(all))
	}
	has := map[string]bool{}
	for _, r := range all {
		has[r.Name] = true
		for _, scale := range Scales {
			p, err := plan.Parse(r.Text, plan.Options{File: r.Name, Scale: scale, Workloads: workload.All()})
			if err != nil {
				t.Errorf("%s at %s: %v", r.Name, scale, err)
				continue
			}
			vs, err := p.Variants()
			if err != nil || len(vs) == 0 {
				t.Errorf("%s at %s: %d variants, %v", r.Name, scale, len(vs), err)
			}
			if p.Name != r.Name || p.Title == "" || p.Topic == "" || p.About == "" || len(p.Published) == 0 {
				t.Errorf("%s lacks its name, title, topic, text or what was published", r.Name)
			}
			if p.Budget == 0 {
				t.Errorf("%s at %s has no budget", r.Name, scale)
			}
			if scale == "small" && (p.Budget.String() > "9m" || len(p.Budget.String()) > 2) {
				t.Errorf("%s at small may take %s: ten minutes are promised, with what comes before", r.Name, p.Budget)
			}
		}
	}
	for _, name := range want {
		if !has[name] {
			t.Errorf("no recipe %s", name)
		}
	}
}

func TestFind(t *testing.T) {
	if r, err := Find("charset"); err != nil || r.Name != "charset" ||
		!strings.HasPrefix(string(r.Text), "dyno_plan:") {
		t.Errorf("%+v, %v", r.Name, err)
	}
	for _, name := range []string{"", "chraset", "../recipes", "charset.yaml"} {
		_, err := Find(name)
		var e *UnknownError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), "charset") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
