package exposition

import (
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"

	"github.com/dyno-perf/dyno/internal/mysql/figures"

	"github.com/dyno-perf/dyno/internal/metric"
)

func text(t *testing.T, f Format, gs ...Group) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, f, helps.Of, gs...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var helps = Helps{
	Names:  map[string]string{figures.Commands.Name: "Statements executed, by command (Com_ variables)."},
	Groups: []Prefixed{{"mysql_global_status_", "Status variable % (SHOW GLOBAL STATUS)."}},
}

var some = []Group{
	{metric.L("target", "b"), []metric.Sample{
		{Name: "mysql_global_status_questions", Kind: metric.Counter, Value: 12},
		{Name: figures.Commands.Name, Labels: metric.L("command", "select"), Kind: metric.Counter, Value: 7},
		{Name: "mysql_global_status_threads_running", Value: 1.5},
	}},
	{metric.L("target", "a"), []metric.Sample{
		{Name: figures.Commands.Name, Labels: metric.L("command", "insert"), Kind: metric.Counter, Value: 3e15},
		{Name: "mysql_global_status_questions", Kind: metric.Counter, Value: 0},
	}},
}

func TestText(t *testing.T) {
	const want = `# HELP mysql_global_status_commands_total Statements executed, by command (Com_ variables).
# TYPE mysql_global_status_commands_total counter
mysql_global_status_commands_total{command="insert",target="a"} 3e+15
mysql_global_status_commands_total{command="select",target="b"} 7
# HELP mysql_global_status_questions Status variable questions (SHOW GLOBAL STATUS).
# TYPE mysql_global_status_questions counter
mysql_global_status_questions{target="a"} 0
mysql_global_status_questions{target="b"} 12
# HELP mysql_global_status_threads_running Status variable threads_running (SHOW GLOBAL STATUS).
# TYPE mysql_global_status_threads_running gauge
mysql_global_status_threads_running{target="b"} 1.5
`
	if got := text(t, Text, some...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOpenMetrics(t *testing.T) {
	const want = `# HELP mysql_global_status_commands Statements executed, by command (Com_ variables).
# TYPE mysql_global_status_commands counter
mysql_global_status_commands_total{command="insert",target="a"} 3e+15
mysql_global_status_commands_total{command="select",target="b"} 7
# HELP mysql_global_status_questions Status variable questions (SHOW GLOBAL STATUS).
# TYPE mysql_global_status_questions unknown
mysql_global_status_questions{target="a"} 0
mysql_global_status_questions{target="b"} 12
# HELP mysql_global_status_threads_running Status variable threads_running (SHOW GLOBAL STATUS).
# TYPE mysql_global_status_threads_running gauge
mysql_global_status_threads_running{target="b"} 1.5
# EOF
`
	if got := text(t, OpenMetrics, some...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// awkward is what a hostile or careless source could give.
var awkward = Group{metric.L("target", "t\"\\\nü"), []metric.Sample{
	{Name: "a", Value: math.NaN()},
	{Name: "b", Value: math.Inf(1)},
	{Name: "c", Value: math.Inf(-1)},
	{Name: "d", Labels: metric.L("target", "own", "x", "bad \xff utf"), Value: -0.125},
	{Name: "d", Labels: metric.L("target", "own", "x", "bad \xff utf"), Value: 9}, // the same again
	{Name: "e-f.g", Labels: metric.L("1st label", "v", "empty", ""), Value: 1e300},
	{Name: "9lives", Value: 5e-324},
	{Name: "", Value: 1},
	{Name: "mixed", Labels: metric.L("k", "1"), Kind: metric.Counter, Value: 1},
	{Name: "mixed", Labels: metric.L("k", "2"), Kind: metric.Gauge, Value: 1},
	{Name: "same", Value: 1},
	{Name: "same_total", Kind: metric.Counter, Value: 2},
	{Name: "_total", Kind: metric.Counter, Value: 2},
	{Name: "gone", Value: math.Float64frombits(value.StaleNaN)},
	{Name: "big", Value: 1 << 53},
}}

// TestParsed reads both formats with Prometheus' own parser and compares every series.
func TestParsed(t *testing.T) {
	f := func(format Format, want map[string]float64) {
		t.Helper()
		b := []byte(text(t, format, awkward))
		p, err := textparse.New(b, format.ContentType(), labels.NewSymbolTable(), textparse.ParserOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for {
			e, err := p.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, b)
			}
			if e != textparse.EntrySeries {
				continue
			}
			_, _, v := p.Series()
			var ls labels.Labels
			p.Labels(&ls)
			got[ls.String()] = v
		}
		for _, k := range slices.Sorted(maps.Keys(want)) {
			v, ok := got[k]
			if !ok || v != want[k] && !(math.IsNaN(v) && math.IsNaN(want[k])) {
				t.Errorf("%s: %s: %v %v, want %v", format.ContentType(), k, v, ok, want[k])
			}
			delete(got, k)
		}
		for k := range got {
			t.Errorf("%s: %s was not given", format.ContentType(), k)
		}
	}
	want := map[string]float64{
		`{__name__="a", target="t\"\\\nü"}`:                                                      math.NaN(),
		`{__name__="b", target="t\"\\\nü"}`:                                                      math.Inf(1),
		`{__name__="c", target="t\"\\\nü"}`:                                                      math.Inf(-1),
		`{__name__="d", exported_target="own", target="t\"\\\nü", x="bad ` + "\uFFFD" + ` utf"}`: -0.125,
		`{_1st_label="v", __name__="e_f_g", target="t\"\\\nü"}`:                                  1e300,
		`{__name__="_9lives", target="t\"\\\nü"}`:                                                5e-324,
		`{__name__="_", target="t\"\\\nü"}`:                                                      1,
		`{__name__="mixed", k="1", target="t\"\\\nü"}`:                                           1,
		`{__name__="mixed", k="2", target="t\"\\\nü"}`:                                           1,
		`{__name__="same", target="t\"\\\nü"}`:                                                   1,
		`{__name__="same_total", target="t\"\\\nü"}`:                                             2,
		`{__name__="_total", target="t\"\\\nü"}`:                                                 2,
		`{__name__="big", target="t\"\\\nü"}`:                                                    1 << 53,
	}
	f(Text, want)
	f(OpenMetrics, want)
}

func TestWriteTellsOfAFullPipe(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(errors.New("gone"))
	if err := Write(w, Text, helps.Of, some...); err == nil || err.Error() != "gone" {
		t.Errorf("%v", err)
	}
}

func BenchmarkWrite(b *testing.B) {
	var ss []metric.Sample
	for i := range 1000 {
		ss = append(ss, metric.Sample{
			Name:   "mysql_global_status_" + strings.Repeat("x", i%40),
			Labels: metric.L("n", string(rune('a'+i/40))), Value: float64(i),
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = Write(io.Discard, Text, helps.Of, Group{metric.L("target", "a"), ss})
	}
}
