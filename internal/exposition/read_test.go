package exposition

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
)

func everything([]byte) bool { return true }

// TestReadWhatIsWritten: what Write writes is what Read reads.
func TestReadWhatIsWritten(t *testing.T) {
	all := []metric.Sample{
		{Name: "a_total", Kind: metric.Counter, Value: 12},
		{Name: "b", Labels: metric.L("path", `C:\new "x"`+"\n{,}=", "a", "ü"), Value: 1.5e-7},
		{Name: "b", Labels: metric.L("path", "/"), Value: math.Inf(1)},
		{Name: "c:d", Value: -3},
	}
	var got []string
	err := Read([]byte(text(t, Text, Group{Samples: all})), everything, func(n string, ls metric.Labels, v float64) {
		got = append(got, fmt.Sprint(n, ls, v))
	})
	var want []string
	for _, s := range all {
		want = append(want, fmt.Sprint(s.Name, s.Labels, s.Value))
	}
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
	}
}

func TestReadPages(t *testing.T) {
	f := func(page, want string) {
		t.Helper()
		var got strings.Builder
		err := Read([]byte(page), everything, func(n string, ls metric.Labels, v float64) {
			fmt.Fprintf(&got, "%s%v=%v ", n, ls, v)
		})
		if err != nil {
			fmt.Fprintf(&got, "%v", err)
		}
		if strings.TrimSpace(got.String()) != want {
			t.Errorf("%q:\ngot  %s\nwant %s", page, got.String(), want)
		}
	}
	const bad = "line 1 is not a sample in Prometheus' text format"
	f("", "")
	f("# HELP a b\n# TYPE a gauge\na 1 1395066363000\n\n", "a[]=1")
	f("a{} 1\r\na { x = \"1\" , y=\"2\", } 2", "a[]=1 a[{x 1} {y 2}]=2")
	f("a NaN", "a[]=NaN")
	f("<html><body>", bad)
	f("a", bad)
	f("a-1", bad)
	f("a{", bad)
	f("a{x=\"1} 2", bad)
	f("a{x=1} 2", bad)
	f("a{x=\"1\"}", bad)
	f("a one", bad)
	f("a 1 2 3", bad)
}

func FuzzRead(f *testing.F) {
	f.Add("a{x=\"1\\n\"} 2 3\n# x\nb 1e5")
	f.Fuzz(func(t *testing.T, page string) {
		_ = Read([]byte(page), everything, func(n string, _ metric.Labels, _ float64) {
			if n == "" {
				t.Error("a sample without a name")
			}
		})
	})
}
