package series

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// asked returns an engine over a store that holds a minute of two series of one metric, and of another that changed its
// kind.
func asked(t *testing.T, l Limits) (*Engine, *Store) {
	t.Helper()
	s := mustOpen(t, filepath.Join(t.TempDir(), "s"))
	for i := range 60 {
		at := t0 + int64(i)*1000
		kind := metric.Gauge
		if i >= 30 {
			kind = metric.Counter
		}
		r := reading.Reading{Target: "a", At: time.UnixMilli(at), Samples: []metric.Sample{
			{Name: "reads", Labels: metric.L("disk", "x"), Kind: metric.Counter, At: at, Value: float64(2 * i)},
			{Name: "reads", Labels: metric.L("disk", "y"), Kind: metric.Counter, At: at, Value: float64(4 * i)},
			{Name: "learned", Kind: kind, At: at, Value: float64(i)},
		}}
		if err := s.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	help := func(name string) string { return "Help on " + name + "." }
	return NewEngine(s, help, l), s
}

func moment(seconds float64) time.Time { return time.UnixMilli(t0 + int64(seconds*1000)) }

func answerText(t *testing.T, a Answer) string {
	t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestQueryAnswersAsPrometheusDoes(t *testing.T) {
	e, _ := asked(t, Limits{})
	f := func(expr string, seconds float64, want string) {
		t.Helper()
		a, err := e.Query(t.Context(), expr, moment(seconds), QueryOptions{})
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		if got := answerText(t, a); got != want {
			t.Fatalf("%s: got %s, want %s", expr, got, want)
		}
	}
	f(`reads{disk="x"}`, 59,
		`{"resultType":"vector","result":[{"metric":{"__name__":"reads","disk":"x","instance":"a","job":"dyno","target":"a"},"value":[1764000059,"118"]}]}`)
	f(`sum(rate(reads[20s]))`, 59, `{"resultType":"vector","result":[{"metric":{},"value":[1764000059,"6"]}]}`)
	f(`reads{disk="x"}[2s]`, 1,
		`{"resultType":"matrix","result":[{"metric":{"__name__":"reads","disk":"x","instance":"a","job":"dyno","target":"a"},"values":[[1764000000,"0"],[1764000001,"2"]]}]}`)
	f(`nothing`, 1, `{"resultType":"vector","result":[]}`)
	f(`1/0`, 0.25, `{"resultType":"scalar","result":[1764000000.25,"+Inf"]}`)
	f("\"a\\\"\\n<\"", 0, `{"resultType":"string","result":[1764000000,"a\"\n\u003c"]}`)
	f(`vector(-1e-7)`, 0.005, `{"resultType":"vector","result":[{"metric":{},"value":[1764000000.005,"-1e-07"]}]}`)
	// A series that changed its kind is one series, and its kind is no label.
	f(`learned`, 59,
		`{"resultType":"vector","result":[{"metric":{"__name__":"learned","instance":"a","job":"dyno","target":"a"},"value":[1764000059,"59"]}]}`)
	f(`count_over_time(learned[1m])`, 59,
		`{"resultType":"vector","result":[{"metric":{"instance":"a","job":"dyno","target":"a"},"value":[1764000059,"60"]}]}`)
	f(`count({__name__=~".+"})`, 59, `{"resultType":"vector","result":[{"metric":{},"value":[1764000059,"3"]}]}`)
}

func TestQueryRangeGivesEachStep(t *testing.T) {
	e, _ := asked(t, Limits{})
	a, err := e.QueryRange(t.Context(), `reads{disk="y"}`, moment(58), moment(59.5),
		500*time.Millisecond, QueryOptions{})
	const want = `{"resultType":"matrix","result":[{"metric":{"__name__":"reads","disk":"y","instance":"a","job":"dyno","target":"a"},"values":[[1764000058,"232"],[1764000058.500,"232"],[1764000059,"236"],[1764000059.500,"236"]]}]}`
	if err != nil || answerText(t, a) != want {
		t.Fatalf("got %s, %v", answerText(t, a), err)
	}
	a, err = e.QueryRange(t.Context(), `reads`, moment(58), moment(59), time.Second, QueryOptions{Limit: 1})
	if err != nil || len(a.Series) != 1 || !slices.Equal(a.Warnings, []string{cutNote}) {
		t.Fatalf("got %+v, %v", a, err)
	}
	a, err = e.Query(t.Context(), `reads`, moment(59+200), QueryOptions{Lookback: time.Minute})
	if err != nil || len(a.Series) != 0 {
		t.Fatalf("a lookback of a minute shows what is older: %+v, %v", a, err)
	}
}

func TestQueryErrorsHaveTheirType(t *testing.T) {
	e, s := asked(t, Limits{Samples: 100, Concurrent: 1})
	f := func(expr string, ctx context.Context, o QueryOptions, want ErrorType) {
		t.Helper()
		_, err := e.Query(ctx, expr, moment(59), o)
		var q *QueryError
		if !errors.As(err, &q) || q.Type != want {
			t.Fatalf("%s: got %v (%T), want %s", expr, err, err, want)
		}
	}
	f(`sum by (`, t.Context(), QueryOptions{}, BadData)
	f(`reads * on (target) reads`, t.Context(), QueryOptions{}, Execution)
	f(`reads[1m]`, t.Context(), QueryOptions{}, Execution) // 120 samples, 100 are allowed
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	f(`reads`, gone, QueryOptions{}, Canceled)
	e.turn <- struct{}{} // another query runs and does not end
	f(`reads`, t.Context(), QueryOptions{Timeout: time.Millisecond}, Timeout)
	<-e.turn
	_, err := e.QueryRange(t.Context(), "1", moment(0), moment(20_000), time.Second, QueryOptions{})
	var q *QueryError
	if !errors.As(err, &q) || q.Type != BadData {
		t.Fatalf("20000 points: got %v", err)
	}
	// Fewer points than allowed by the clock of package time, which ends at 292 years.
	if _, err = e.QueryRange(t.Context(), "1", time.Unix(-9e15, 0), time.Unix(9e15, 0), 100*365*24*time.Hour,
		QueryOptions{}); !errors.As(err, &q) || q.Type != BadData {
		t.Fatalf("millions of points: got %v", err)
	}
	f(strings.Repeat("(", MaxExpression+1), t.Context(), QueryOptions{}, BadData)
	if _, err := e.Matching(t.Context(), slices.Repeat([]string{"reads"}, MaxSelectors), moment(0),
		moment(59), 0); err != nil {
		t.Fatalf("some selectors: got %v", err)
	}
	if _, err := e.Matching(t.Context(), slices.Repeat([]string{"reads"}, MaxSelectors+1), moment(0), moment(59),
		0); !errors.As(err, &q) || q.Type != BadData {
		t.Fatalf("many selectors: got %v", err)
	}
	if _, err := e.LabelNames(t.Context(), []string{strings.Repeat("a", MaxExpression+1)}, time.Time{}, time.Time{},
		0); !errors.As(err, &q) || q.Type != BadData {
		t.Fatalf("a long selector: got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f(`reads`, t.Context(), QueryOptions{}, Unavailable)
	if _, err := e.LabelNames(t.Context(), nil, time.Time{}, time.Time{}, 0); !errors.As(err, &q) ||
		q.Type != Unavailable {
		t.Fatalf("a closed store lists labels: %v", err)
	}
}

// TestAnAnswerHasABound: what would be an answer of any size is refused with what to do about it.
func TestAnAnswerHasABound(t *testing.T) {
	e, s := asked(t, Limits{Points: 100})
	f := func(expr string, to float64, o QueryOptions, points int, want string) {
		t.Helper()
		a, err := e.QueryRange(t.Context(), expr, moment(0), moment(to), time.Second, o)
		var q *QueryError
		n := 0
		for _, x := range a.Series {
			n += len(x.Points)
		}
		if want == "" && err != nil || want != "" && (!errors.As(err, &q) || q.Type != Execution ||
			q.Error() != want) || n != points {
			t.Errorf("%s: %d points, want %d; got %v", expr, n, points, err)
		}
	}
	f(`reads`, 49, QueryOptions{}, 100, "")
	f(`reads`, 50, QueryOptions{}, 0, "the answer has 102 points, and 100 are allowed: request fewer series, a "+
		"shorter time or a longer step")
	f(`reads`, 59, QueryOptions{Limit: 1}, 60, "")
	f(`sum(reads)`, 59, QueryOptions{}, 60, "")
	if _, err := e.Query(t.Context(), `reads[1m]`, moment(59), QueryOptions{}); err == nil {
		t.Error("seconds of a range have no bound")
	}
	// Series at one moment, and their labels, take as much as points.
	e = NewEngine(s, nil, Limits{Points: 40})
	made := func(n int, text string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `label_replace(reads, "a", "%d%s", "", "") or `, i, text)
		}
		return "sum by (a) (" + b.String() + "reads)"
	}
	g := func(expr string, o QueryOptions, want string) {
		t.Helper()
		_, err := e.Query(t.Context(), expr, moment(59), o)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", expr, err, want)
		}
	}
	g(made(39, ""), QueryOptions{}, "")
	g(made(40, ""), QueryOptions{}, "the answer has 41 points, and 40 are allowed")
	g(made(40, ""), QueryOptions{Limit: 40}, "")
	long := strings.Repeat("x", 500)
	g(made(2, long), QueryOptions{}, "")
	g(made(4, long), QueryOptions{}, "bytes of labels, and 1280 are allowed")
	g(made(4, long), QueryOptions{Limit: 1}, "")
	if _, err := e.QueryRange(t.Context(), made(4, long), moment(0), moment(1), time.Second,
		QueryOptions{}); err == nil {
		t.Error("labels of a range have no bound")
	}
	if l := NewEngine(nil, nil, Limits{}).limits; l.Points < MaxPoints || l.Points*30 > 32<<20 {
		t.Errorf("%d points are allowed", l.Points)
	}
}

// TestSeriesOfAQueryHaveABound: all selectors of an expression are looked up before any is evaluated, and what they
// find is held until the query ends, so it is counted over all of them.
func TestSeriesOfAQueryHaveABound(t *testing.T) {
	e, s := asked(t, Limits{Series: 5})
	f := func(expr string, want ErrorType) {
		t.Helper()
		_, err := e.Query(t.Context(), expr, moment(59), QueryOptions{})
		var q *QueryError
		if (err == nil) != (want == "") || err != nil && (!errors.As(err, &q) || q.Type != want) {
			t.Errorf("%.60s: got %v (%T), want %q", expr, err, err, want)
		}
	}
	f(`reads or reads`, "")
	f(`reads or reads or reads`, Execution) // 6 series, 5 are allowed
	f(`rate(reads[1m]) or sum_over_time(reads[1m:1s]) or max_over_time(reads[1m])`, Execution)
	f(strings.Repeat(`nothing or `, MaxVectorSelectors-1)+`nothing`, "")
	f(strings.Repeat(`nothing or `, MaxVectorSelectors)+`nothing`, BadData)
	f(strings.Repeat(`rate(nothing[1m]) or `, MaxVectorSelectors)+`nothing`, BadData)
	// A list holds the series of one selector at a time.
	if _, err := e.Matching(t.Context(), slices.Repeat([]string{"reads"}, 3), moment(0), moment(59), 0); err != nil {
		t.Error(err)
	}
	var q *QueryError
	if _, err := NewEngine(s, nil, Limits{Series: 1}).Matching(t.Context(), []string{"reads"}, moment(0), moment(59),
		0); !errors.As(err, &q) || q.Type != Execution {
		t.Errorf("a list of too many: %v", err)
	}
	// The longer the labels that an expression makes for each series, the fewer series it may have.
	e = NewEngine(s, nil, Limits{})
	e.text = 4 << 10
	f(`label_replace(reads, "a", "`+strings.Repeat("x", 2000)+`", "", "")`, "")
	f(`label_replace(reads, "a", "`+strings.Repeat("x", 3000)+`", "", "")`, Execution)
	if l := e.limits; l.Series != 500_000 {
		t.Errorf("%d series are allowed", l.Series)
	}
}

// TestStepsHaveABound: the engine makes room for steps before it counts anything.
func TestStepsHaveABound(t *testing.T) {
	e, _ := asked(t, Limits{Timeout: time.Hour})
	f := func(expr string, steps int, want ErrorType) {
		t.Helper()
		_, err := e.QueryRange(t.Context(), expr, moment(0), moment(0).Add(time.Duration(steps-1)*time.Second),
			time.Second, QueryOptions{})
		var q *QueryError
		if (err == nil) != (want == "") || err != nil && (!errors.As(err, &q) || q.Type != want) {
			t.Errorf("%s at %d steps: got %v (%T), want %q", expr, steps, err, err, want)
		}
	}
	f(`max_over_time(vector(1)[100y:1ms])`, 1, BadData)
	f(`max_over_time(vector(1)[1d:1s])`, 1, "")
	f(`max_over_time(max_over_time(vector(1)[20h:1s])[20h:1s])`, 1, BadData)
	f(`max_over_time(max_over_time(vector(1)[20h:1s])[1h:1s])`, 1, "")
	f(`max_over_time(vector(1)[100y:])`, 1, BadData)
	// Each step may have values of its own, each a series with room for all steps.
	f(`count_values("v", vector(time()))`, 11_000, Execution)
	f(`count_values("v", vector(time()))`, 60, "")
	f(`count_values("v", vector(1))`, 6000, "")
	f(`count_values("v", reads*0 + time())`, 60, "") // two series
	// What is allowed may take minutes to evaluate.
	room := func(expr string, steps, want int) {
		t.Helper()
		x, err := e.parser.ParseExpr(expr)
		if err != nil {
			t.Fatal(err)
		}
		if n, _, err := roomFor(x, float64(steps-1)*1000, float64(steps)); n != want || (err == nil) != (want > 0) {
			t.Errorf("%s at %d steps: room for %d series, %v, want %d", expr, steps, n, err, want)
		}
	}
	room(`reads`, 11_000, 13_421)
	nested := `a`
	for range 6 {
		nested = `rate(` + nested + `[1ms:1ms])`
	}
	room(`rate(`+nested+`[80s:1ms])`, 1, 0) // each has the steps of those around it
	room(`rate(`+nested+`[60s:1ms])`, 1, 13_421)
	room(`max_over_time(a[90s:1ms]) + max_over_time(b[90s:1ms])`, 1, 13_421)
	room(`quantile_over_time(time(), a[1m])`, 11_000, 13_421)
	room(strings.Repeat(`quantile_over_time(time(), a[1m]) or `, 10)+`a`, 11_000, 0)
	room(strings.Repeat(`histogram_quantile(scalar(b), a) or `, 10)+`a`, 11_000, 0)
	room(strings.Repeat(`quantile(time(), a) or `, 10)+`a`, 11_000, 0)
	room(strings.Repeat(`quantile_over_time(0.9, a[1m]) or `, 40)+`a`, 11_000, 13_421)
	room(`max_over_time(vector(1)[1d:1s])`, 11_000, 13_421) // 97 400 steps
	room(`max_over_time(vector(1)[1h:1s])`, 96_400, 13_421)
	room(`max_over_time(vector(1)[1h:1s])`, 96_401, 0)
	room(`max_over_time(a[1d])`, 11_000, 13_421)
	room(`max_over_time(a[2d])`, 11_000, 0)
	room(`quantile_over_time(0.5, a[1h])`, 11_000, 13_421)
	room(`quantile_over_time(0.5, a[1d])`, 11_000, 0)
	room(`quantile_over_time(0.5, max_over_time(a[1m])[1h:1s])`, 11_000, 13_421)
	// Room for each group, and for each pair.
	room(`topk(1e9, a)`, 11_000, 13_421)
	room(`topk by (x) (10, a)`, 11_000, 13_421)
	room(`topk without (x) (1e9, a)`, 11_000, 2364)
	room(`bottomk by (x) (scalar(b), a)`, 11_000, 2364)
	room(`a * on () group_left (k) b`, 11_000, 1677)
	room(`a * on () group_left b`, 11_000, 13_421)
	room(`a * on () group_left (k) b`, 1, 8_388_608)
	room(`max_over_time(quantile_over_time(0.5, a[15d])[90000s:1s])`, 1, 0) // each step sorts them
}

// TestAQueryEndsWhereMemoryGrows: what no other bound knows of.
func TestAQueryEndsWhereMemoryGrows(t *testing.T) {
	e, _ := asked(t, Limits{})
	e.memory = 1 << 20
	_, err := e.QueryRange(t.Context(), `max_over_time(vector(1)[1d:1s])`, moment(0), moment(10_000),
		time.Second, QueryOptions{})
	var q *QueryError
	if !errors.As(err, &q) || q.Type != Execution || !errors.Is(q.Err, errMemory) {
		t.Errorf("got %v (%T)", err, err)
	}
}

// TestRegexpsHaveABound: a few letters may repeat without end, and the parser compiles them.
func TestRegexpsHaveABound(t *testing.T) {
	e, _ := asked(t, Limits{})
	long := strings.Repeat(".{1000}", 300)
	f := func(expr string, want ErrorType) {
		t.Helper()
		_, err := e.Query(t.Context(), expr, moment(0), QueryOptions{})
		var q *QueryError
		if (err == nil) != (want == "") || err != nil && (!errors.As(err, &q) || q.Type != want) {
			t.Errorf("%.60s: got %v (%T), want %q", expr, err, err, want)
		}
		_, err = e.Matching(t.Context(), []string{"reads", expr}, moment(0), moment(1), 0)
		if (err == nil) != (want == "") {
			t.Errorf("match[]=%.60s: got %v, want %q", expr, err, want)
		}
	}
	f(`reads{a=~".{1000}"}`, "")
	f("reads{a=~`[\\p{Lu}\\p{Mn}\\p{Po}\\p{Nd}\\p{Sm}\\p{Lm}]{990}`}", BadData) // each has a copy of 1226 ranges
	f("reads{a=~`\\p{Lu}+`}", "")
	f(`reads{a=~"`+long+`"}`, BadData)
	f("reads{a!~`"+long+"`}", BadData)
	f(`reads{a=~"((a{0,30}){2,33}){99}|((.{9}){9}){9}"}`, BadData)
	f(`reads{a=~"(`+strings.Repeat("x", 1000)+`){999}"}`, BadData)
	f(`reads{a="`+long+`\x7b"}`, BadData)
	f(`reads{a=~".\x7b1000\x7d"}`, "")
	f(`reads{a=~"(`+strings.Repeat("x", 1000)+`)\x7b999\x7d"}`, BadData) // as the parser reads it
	f(`reads{a=~"`+strings.Repeat("name[0-9]+|", 2000)+`x"}`, "")
	for what, s := range map[string]string{
		"repeats":                long,
		"groups":                 strings.Repeat("()", 5000) + strings.Repeat("x?", 5000),
		"groups that are none":   strings.Repeat("x", 1000) + "){999}(?:",
		"a quotation to the end": `(` + strings.Repeat("x", 1000) + `){999}\\Q`,
	} {
		if err := checkRegexps(`label_replace(reads, "a", "$1", "b", "` + s + `")`); err == nil {
			t.Errorf("%s of label_replace are not looked at", what)
		}
	}
	half := `{a="` + strings.Repeat("x", MaxExpression/2) + `"}`
	if _, err := e.Matching(t.Context(), []string{half, half}, moment(0), moment(1), 0); err == nil {
		t.Error("two selectors are longer together than one may be")
	}
	for _, broken := range []string{
		`{a=~"`, "`", `"\`, "{", "}{1000}", "#", "\xff\xfe",
		`{a=~"(.{1000}"}`, `{{buckets:[1 2}`,
	} {
		if err := checkRegexps(broken); err != nil {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

// TestLookingUpSeriesEnds: who went away has no series gathered.
func TestLookingUpSeriesEnds(t *testing.T) {
	_, s := asked(t, Limits{})
	q, err := s.queryable().Querier(t0, t0+60_000)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	_, err = q.(*querier).seconds.each(ctx, nil,
		[]*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, nameLabel, "reads")},
		func(storage.Series, labels.Labels, runs) error {
			cancel()
			n++
			return nil
		})
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d series, %v", n, err)
	}
}

// TestTextOfAQueryHasABound: labels that an expression doubles again and again, or repeats, fill the memory of no one.
func TestTextOfAQueryHasABound(t *testing.T) {
	e, _ := asked(t, Limits{})
	f := func(expr string, allowed bool) {
		t.Helper()
		_, err := e.Query(t.Context(), expr, moment(59), QueryOptions{})
		var q *QueryError
		if (err == nil) != allowed || !allowed && (!errors.As(err, &q) || q.Type != Execution) {
			t.Errorf("%.100s: %v", expr, err)
		}
	}
	doubled := func(by func(string) string, times int) string {
		x := `reads`
		for range times {
			x = by(x)
		}
		return "count(" + x + ")"
	}
	join := func(x string) string { return `label_join(` + x + `, "a", "-", "disk", "disk")` }
	replace := func(x string) string { return `label_replace((` + x + `), "a", ("$1 $1"), "disk", "(.*)")` }
	f(doubled(join, 3), true)
	f(doubled(join, 12), false)
	f(doubled(replace, 3), true)
	f(doubled(replace, 12), false)
	f(`label_replace(reads, "a", "`+strings.Repeat("$1", 1000)+`", "disk", "(.*)")`, false)
	f(`label_join(reads, "a", "`+strings.Repeat("x", 30000)+`", "disk", "disk", "disk")`, false)
	f(strings.Repeat(replace("reads")+" or ", 50)+"reads", true)
	many := replace("reads{disk='x'}")
	for i := range 20 {
		many = fmt.Sprintf(`(%s) * on (disk) group_left (l%d) %s`, many, i, strings.Replace(replace("reads{disk='x'}"),
			`"a"`, fmt.Sprintf(`"l%d"`, i), 1))
	}
	f(many, false)

	// Nobody looks at the clock while labels are replaced, nor is what count_values makes found.
	for expr, most := range map[string]float64{
		`label_replace(label_replace(a, "x", "` + strings.Repeat("x", 7900) +
			`", "", ""), "y", "", "x", "<.{0,1000}.{0,1000}.{0,1000}>")`: 300,
		`label_replace(a, "x", "$1", "disk", "(.+)")`: 1e6,
	} {
		x, err := e.parser.ParseExpr(expr)
		if err != nil {
			t.Fatal(err)
		}
		_, _, matching := text(x)
		if n := mostMatching / matching; n > most || n < most/100 {
			t.Errorf("%.60s: %.0f series are matched, want at most %.0f", expr, n, most)
		}
	}
	_, err := e.QueryRange(t.Context(), `count(label_replace(count_values("v", reads*0 + time()), "a", "`+
		strings.Repeat("x", 30000)+`", "", ""))`,
		moment(0), moment(59), 10*time.Millisecond, QueryOptions{})
	var q *QueryError
	if !errors.As(err, &q) || q.Type != Execution {
		t.Errorf("labels of 30 kB for 5900 values: %v", err)
	}
}

// TestDeepAndFarQueriesEnd asks what would end a program that nests or counts without bounds.
func TestDeepAndFarQueriesEnd(t *testing.T) {
	e, _ := asked(t, Limits{})
	f := func(expr string, at ...time.Time) {
		t.Helper()
		for _, at := range at {
			var q *QueryError
			if _, err := e.Query(t.Context(), expr, at, QueryOptions{Timeout: time.Second}); err != nil &&
				!errors.As(err, &q) {
				t.Fatalf("%.40q at %v: %T %v", expr, at, err, err)
			}
		}
	}
	f(strings.Repeat("(", MaxExpression), moment(59))
	f(strings.Repeat("-", MaxExpression-1)+"1", moment(59))
	f(strings.Repeat("abs(", MaxExpression/8)+"reads"+strings.Repeat(")", MaxExpression/8), moment(59))
	for _, expr := range []string{
		"reads", "\xff{\xfe", `reads offset 100y`, `rate(reads[100y])`,
		`rate(reads[100y:1y])`, `reads @ 9e15`, `vector(time())`,
	} {
		f(expr, moment(59), time.Unix(9e15, 0), time.Unix(-9e15, 0), time.Time{})
	}
}

func TestListsHideHowKindsAreKept(t *testing.T) {
	e, _ := asked(t, Limits{})
	var none time.Time
	names, err := e.LabelNames(t.Context(), nil, none, none, 0)
	if d := cmp.Diff([]string{"__name__", "disk", "instance", "job", "target"}, names.Items); d != "" || err != nil {
		t.Fatal(d, err)
	}
	values, err := e.LabelValues(t.Context(), "__name__", nil, none, none, 0)
	if d := cmp.Diff([]string{"learned", "reads"}, values.Items); d != "" || err != nil {
		t.Fatal(d, err)
	}
	values, err = e.LabelValues(t.Context(), kindLabel, nil, none, none, 0)
	if len(values.Items) != 0 || err != nil {
		t.Fatal(values, err)
	}
	values, err = e.LabelValues(t.Context(), "disk", []string{`{disk="y"}`, `{disk=~"x|y"}`}, moment(0), moment(59), 1)
	if d := cmp.Diff(Listing[string]{[]string{"x"}, true}, values); d != "" || err != nil {
		t.Fatal(d, err)
	}
	series, err := e.Matching(t.Context(), []string{`learned`, `{disk="x"}`, `{__name__=~"l.*"}`}, none, none, 0)
	want := []metric.Labels{
		metric.L("__name__", "learned", "instance", "a", "job", "dyno", "target", "a"),
		metric.L("__name__", "reads", "disk", "x", "instance", "a", "job", "dyno", "target", "a"),
	}
	if d := cmp.Diff(want, series.Items); d != "" || err != nil {
		t.Fatal(d, err)
	}
	for _, bad := range [][]string{nil, {`{target=~".*"}`}, {`sum(reads)`}} {
		var q *QueryError
		if _, err := e.Matching(t.Context(), bad, none, none, 0); !errors.As(err, &q) || q.Type != BadData {
			t.Fatalf("%v: got %v", bad, err)
		}
	}
	m, err := e.Metadata(t.Context(), "", 0)
	meta := map[string][]Metadata{
		"reads":   {{"counter", "Help on reads.", ""}},
		"learned": {{"counter", "Help on learned.", ""}, {"gauge", "Help on learned.", ""}},
	}
	if d := cmp.Diff(meta, m); d != "" || err != nil {
		t.Fatal(d, err)
	}
	if m, err = e.Metadata(t.Context(), "reads", 0); len(m) != 1 || err != nil {
		t.Fatal(m, err)
	}
	if m, err = e.Metadata(t.Context(), "", 1); len(m["learned"]) != 2 || len(m) != 1 || err != nil {
		t.Fatal(m, err)
	}
}

func TestAnswerStringsAreJSON(t *testing.T) {
	f := func(s string) {
		t.Helper()
		b := appendString(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil || got != strings.ToValidUTF8(s, "\uFFFD") {
			t.Fatalf("%q was written as %s, read as %q, %v", s, b, got, err)
		}
		std, err := json.Marshal(s)
		if err != nil || !strings.EqualFold(string(std), string(b)) && !strings.ContainsAny(s, "\b\f\x7f") {
			t.Fatalf("%q: encoding/json writes %s, not %s (%v)", s, std, b, err)
		}
	}
	f("")
	f("sd a\xff\"\\\n\r\t\x00\x1b\x7f\b\f")
	f("<script>&\u2028\u2029ü漢\U0001F600\uFFFD")
	for r := range rune(0x300) {
		f(string(r))
	}
}

func FuzzAnswerString(f *testing.F) {
	f.Add("a\xff\"")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

func TestTimesAreReadAsPrometheusDoes(t *testing.T) {
	f := func(s string, want int64) {
		t.Helper()
		got, err := ParseTime(s)
		if (err != nil) != (want == -1) || err == nil && got.UnixMilli() != want {
			t.Fatalf("%q: got %v, %v", s, got, err)
		}
	}
	f("1764000000", t0)
	f("1764000000.0006", t0+1)
	f("1.764e9", t0)
	f("2025-11-24T16:00:00Z", t0)
	f("2025-11-24T17:00:00.25+01:00", t0+250)
	f("-292273086-05-16T16:47:06Z", math.MinInt64/2)
	f("292277025-08-18T07:12:54.999999999Z", math.MaxInt64/2)
	f("", -1)
	f("now", -1)
	f("NaN", -1)
	f("1e300", -1)
	g := func(s string, want time.Duration) {
		t.Helper()
		got, err := ParseDuration(s)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Fatalf("%q: got %v, %v", s, got, err)
		}
	}
	g("15", 15*time.Second)
	g("0.5", 500*time.Millisecond)
	g("1h30m", 90*time.Minute)
	g("1d", 24*time.Hour)
	g("", -1)
	g("NaN", -1)
	g("+Inf", -1)
	g("1e30", -1)
	g("1x", -1)
}

// TestTheSpokenVersionIsTheOneBuiltIn holds PrometheusVersion to go.mod: v0.315.0 of the library is Prometheus 3.15.0.
func TestTheSpokenVersionIsTheOneBuiltIn(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var minor, patch int
	_, line, _ := strings.Cut(string(mod), "\tgithub.com/prometheus/prometheus v0.3")
	if n, err := fmt.Sscanf(line, "%d.%d", &minor, &patch); n != 2 {
		t.Fatal("go.mod names no Prometheus", err)
	}
	if want := fmt.Sprintf("3.%d.%d", minor, patch); PrometheusVersion != want {
		t.Fatalf("PrometheusVersion is %s, go.mod has %s", PrometheusVersion, want)
	}
}

func TestValuesAreWrittenAsPrometheusDoes(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := string(appendValue(nil, v)); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	f(0, `"0"`)
	f(math.Copysign(0, -1), `"-0"`)
	f(0.30000000000000004, `"0.30000000000000004"`)
	f(1e20, `"100000000000000000000"`)
	f(1e21, `"1e+21"`)
	f(math.NaN(), `"NaN"`)
	f(math.Inf(-1), `"-Inf"`)
}
