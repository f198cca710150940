package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// about returns the middle of logarithms with twice their standard error: near enough to a real interval for a picture.
func about(xs []float64) stat.Interval {
	n := float64(len(xs))
	var sum, sq float64
	for _, x := range xs {
		sum += math.Log(x)
	}
	m := sum / n
	for _, x := range xs {
		sq += (math.Log(x) - m) * (math.Log(x) - m)
	}
	h := 2.2 * math.Sqrt(sq/(n-1)/n)
	return stat.Interval{Center: math.Exp(m), Lo: math.Exp(m - h), Hi: math.Exp(m + h), N: len(xs), Confidence: 0.95}
}

// judged is a simple verdict on pairs.
func judged(pairs []float64, metric string) *stat.Verdict {
	v := &stat.Verdict{Result: stat.Unstable, Margin: 0.02, Metric: metric, Confidence: 0.95}
	if len(pairs) < 3 {
		v.Result, v.Reasons = stat.Invalid,
			[]string{fmt.Sprintf("no ratio can be computed: it needs at least 3 pairs and has %d", len(pairs))}
		return v
	}
	v.Ratio = about(pairs)
	v.Ratio.Confidence = 0.984
	wins := 0
	for _, x := range pairs {
		if x > 1 {
			wins++
		}
	}
	v.Favour, v.Adjusted = float64(wins)/float64(len(pairs)), 0.004
	switch r := v.Ratio; {
	case r.Lo >= 1/1.02 && r.Hi <= 1.02:
		v.Result, v.Adjusted = stat.Same, 0.6
	case r.Lo > 1:
		v.Result = stat.Better
	case r.Hi < 1:
		v.Result = stat.Worse
	default:
		v.Adjusted = 0.21
		v.Reasons = []string{"the ratio differs from pair to pair by about ±14 %: the target is not steady"}
	}
	return v
}

// sampleResult is charset × threads on two servers, as a run of some hours leaves it: mostly clear, one cell unstable,
// one variant that did not start, one trial that does not count, one value missing, and a variable that differs
// although no axis says so.
func sampleResult() *trial.Result {
	start := time.Date(2026, 6, 2, 19, 4, 11, 0, time.UTC)
	rnd := rand.New(rand.NewPCG(7, 11))
	noise := func(v, share float64) float64 { return v * math.Exp(rnd.NormFloat64()*share) }

	servers := []string{"mariadb@10.11", "mysql@9.7"}
	charsets := []string{"latin1", "utf8mb4_general_ci", "utf8mb4_0900_ai_ci"}
	threads := []int{1, 4, 16, 64}
	p := plan.Plan{
		Name: "charset", Title: "What do charset and collation cost?", Database: "lab",
		About: "sysbench's read-only transactions with ranges that sort by a text column.",
		Topic: "charsets and collations",
		Base: plan.Config{Run: plan.Run{Workload: "oltp_read_only", Options: map[string]string{
			"tables":     "4",
			"table-size": "100000",
		}}},
		Axes:     []plan.Axis{{Name: "server"}, {Name: "collation"}, {Name: "threads", Numeric: true}},
		Skip:     []map[string]string{{"server": "mariadb@10.11", "collation": "utf8mb4_0900_ai_ci"}},
		Baseline: map[string]string{"collation": "latin1"},
		Table: plan.Table{
			Rows: []string{"threads"}, Columns: []string{"server", "collation"},
			Show: []string{"tps", "p95_ms", "p99_ms"},
		},
		Trials: plan.Trials{
			Time: plan.Duration(20 * time.Second), WarmMin: plan.Duration(3 * time.Second),
			WarmMax: plan.Duration(20 * time.Second),
			Min:     4, Max: 8, Margin: 0.02, Conf: 0.95, Seed: 42, Fresh: plan.FreshServer,
		},
		Placement: plan.Placement{Mode: plan.Split},
		Published: []plan.Published{
			{
				For: map[string]string{"collation": "utf8mb4_general_ci"}, Text: "1.19-1.24× slower than latin1 (8.0)",
				Lo: 0.81, Hi: 0.84,
			},
			{
				For: map[string]string{"collation": "utf8mb4_0900_ai_ci"}, Text: "1.03-1.11× slower than latin1 (8.0)",
				Lo: 0.90, Hi: 0.97,
			},
			{
				For:  map[string]string{"collation": "utf8mb4_general_ci", "server": "mysql@9.7", "threads": "4"},
				Text: "no difference seen", Lo: 0.99, Hi: 1.01,
			},
			{
				For:  map[string]string{"collation": "utf8mb4_general_ci", "server": "mysql@5.7"},
				Text: "1.55-1.62× slower than latin1", Lo: 0.62, Hi: 0.65, Absent: "no build of 5.7 is to be had for " +
					"this system",
			},
		},
	}
	for _, s := range servers {
		p.Axes[0].Levels = append(p.Axes[0].Levels, plan.Level{Name: s, Config: plan.Config{Server: s}})
	}
	for _, s := range charsets {
		p.Axes[1].Levels = append(p.Axes[1].Levels, plan.Level{Name: s})
	}
	for _, n := range threads {
		p.Axes[2].Levels = append(p.Axes[2].Levels, plan.Level{
			Name: strconv.Itoa(n), Numeric: float64(n),
			Config: plan.Config{Run: plan.Run{Threads: n}},
		})
	}
	r := &trial.Result{
		Format: trial.Format, ID: "x-4hq8w", Plan: p, Dyno: "0.2.0", Started: start,
		PlanText: "dyno_plan: 1\nname: charset\ntitle: What do charset and collation cost?\nservers: [mariadb@10.11, " +
			"mysql@9.7]\nworkload: oltp_read_only\n",
		Sentence: "utf8mb4_general_ci is slower than latin1 in 6 of 8 comparisons, by 8 to 20 %; utf8mb4_0900_ai_ci " +
			"by 3 to 9 %. One comparison is unstable and one variant did not start.",
		Warnings: []string{"The client used 71 % of its CPU in the trials with 64 threads: what the server could do " +
			"there may be more."},
		Env: trial.Environment{
			Facts: map[string]map[string]string{
				"machine": {
					"cpu_model": "AMD EPYC 7571", "cpus": "4", "memory": "15.3 GiB", "hypervisor": "KVM",
					"clock_source": "kvm-clock",
				},
				"kernel": {"release": "6.1.0-31-amd64", "transparent_hugepage": "madvise", "swappiness": "60"},
				"storage": {
					"filesystem": "ext4", "mount_options": "rw,relatime",
					"device": "nvme0n1", "scheduler": "none",
				},
				"client": {"affinity": "3", "cgroup": "/system.slice"},
			},
			Unknown: map[string]string{"machine.governor": "the hypervisor hides the frequency"},
		},
		AlsoDiffers: []trial.Difference{
			{Group: "variable", Name: "innodb_flush_method", Values: map[string]string{}},
			{Group: "kernel", Name: "governor", Values: map[string]string{}, Varied: true},
		},
		Explained: []trial.Difference{{
			Group: "server", Name: "version", Values: map[string]string{},
			Why: "comes with the server",
		}},
	}
	vars := map[string]string{}
	for i := range 60 {
		vars[fmt.Sprintf("innodb_variable_%02d", i)] = strconv.Itoa(i * 1024)
	}
	r.Env.Facts["variable"] = vars

	level := map[string]float64{"mariadb@10.11": 1, "mysql@9.7": 0.86}
	cost := map[string]float64{
		"mariadb@10.11 latin1": 1, "mariadb@10.11 utf8mb4_general_ci": 0.915,
		"mysql@9.7 latin1": 1, "mysql@9.7 utf8mb4_general_ci": 0.81, "mysql@9.7 utf8mb4_0900_ai_ci": 0.945,
	}
	scaling := map[int]float64{1: 412, 4: 1310, 16: 1694, 64: 1602}
	key := func(s, c string, n int) string { return fmt.Sprintf("server=%s,collation=%s,threads=%d", s, c, n) }
	type figures struct{ tps, p95, p99 float64 }
	truth := map[string]figures{}
	for _, s := range servers {
		for _, cs := range charsets {
			if cost[s+" "+cs] == 0 {
				continue
			}
			for _, n := range threads {
				k := key(s, cs, n)
				tps := scaling[n] * level[s] * cost[s+" "+cs]
				if cs == "utf8mb4_0900_ai_ci" && n == 1 {
					tps *= 1 / 0.945 * 0.997 // one thread: nothing in it
				}
				truth[k] = figures{tps, 1.6 * float64(n) * 1000 / tps, 2.1 * float64(n) * 1000 / tps}
				r.Variants = append(r.Variants, plan.Variant{
					Key: k, Levels: map[string]string{"server": s, "collation": cs, "threads": strconv.Itoa(n)},
					Config:   plan.Config{Server: s, Run: plan.Run{Workload: "oltp_read_only", Threads: n}},
					Baseline: key(s, "latin1", n),
				})
				r.AlsoDiffers[1].Values[k] = map[bool]string{
					true:  "performance | powersave",
					false: "performance",
				}[n == 16]
				for i, d := range []map[string]string{r.AlsoDiffers[0].Values, r.Explained[0].Values} {
					d[k] = [][]string{{"fsync", "10.11.11-MariaDB"}, {"O_DIRECT", "9.7.0"}}[slices.Index(servers, s)][i]
				}
			}
		}
	}
	control := key("mariadb@10.11", "latin1", 1)
	failed := key("mysql@9.7", "utf8mb4_general_ci", 64)
	shaky := key("mysql@9.7", "utf8mb4_0900_ai_ci", 64)
	saturated := key("mariadb@10.11", "utf8mb4_general_ci", 64)
	rounds := map[string]int{}
	for _, v := range r.Variants {
		rounds[v.Key] = 5
	}
	for _, k := range []string{shaky, saturated, key("mysql@9.7", "latin1", 64), key("mariadb@10.11", "latin1", 64)} {
		rounds[k] = 8
	}
	rounds[failed] = 1
	at := start
	for round := 1; round <= 8; round++ {
		order := rnd.Perm(len(r.Variants) + 1)
		for _, i := range order {
			k, isControl := control, true
			if i < len(r.Variants) {
				k, isControl = r.Variants[i].Key, false
			} else if round > 5 {
				continue
			}
			if round > rounds[k] {
				continue
			}
			setup, warm := noise(4.1, 0.1), noise(6, 0.3)
			from := at.Add(time.Duration((setup + warm) * float64(time.Second)))
			t := trial.Trial{
				Seq: len(r.Trials) + 1, Round: round, Variant: k, Control: isControl, From: from,
				To: from.Add(20 * time.Second), Setup: setup, Warm: warm,
			}
			if k == failed {
				t.Warm, t.To = 0, t.From
				t.Invalid = "the server did not start: [ERROR] [MY-011071] unknown variable " +
					"'character-set-client-handshake=<none>'"
				r.Trials = append(r.Trials, t)
				at = t.To
				continue
			}
			f := truth[k]
			share := 0.009
			if k == shaky {
				share = 0.12
				f.tps *= 1.04
			}
			f.tps = noise(f.tps, share)
			if k == saturated && round == 3 {
				f.tps *= 0.7
				t.Invalid = "the client used 98 % of its CPU"
			}
			if round == 2 && k == control && !isControl {
				t.Warnings = []string{"the rate was not stationary after 20 s"}
			}
			for i := range 20 {
				share := 0.02
				if k == shaky {
					share = 0.15
				}
				ops := noise(f.tps, share)
				if k == shaky && (i+round)%9 == 0 {
					ops *= 0.05
				}
				t.Seconds = append(t.Seconds, trial.Second{
					At:     from.Add(time.Duration(i+1) * time.Second),
					Length: 1, Ops: uint64(ops),
				})
			}
			us := 1e6 / f.tps
			t.Values = map[string]float64{
				"tps": f.tps, "p95_ms": noise(f.p95, 0.015), "server_cpu_us_per_op": noise(us*0.83, 0.01),
				"client_cpu_us_per_op": noise(us*0.21, 0.02),
				"cs_per_op":            noise(31, 0.03), "read_kb_per_op": noise(0.4, 0.05),
				"write_kb_per_op": noise(0.02, 0.1),
				"data_bytes":      noise(1.12e8, 0.0004),
			}
			if !strings.Contains(k, "general_ci,threads=1") { // not measured there
				t.Values["p99_ms"] = noise(f.p99, 0.03)
			}
			r.Trials = append(r.Trials, t)
			at = t.To.Add(300 * time.Millisecond)
		}
	}
	r.Ended = at

	of := func(k string, control bool, name string) map[int]float64 {
		out := map[int]float64{}
		for _, t := range r.Trials {
			if v, ok := t.Values[name]; ok && t.Variant == k && t.Control == control && t.Invalid == "" {
				out[t.Round] = v
			}
		}
		return out
	}
	list := func(m map[int]float64) (out []float64) {
		for round := range 9 {
			if v, ok := m[round]; ok {
				out = append(out, v)
			}
		}
		return out
	}
	ratios := func(a, b map[int]float64) (out []float64) {
		for round := range 9 {
			x, ok1 := a[round]
			y, ok2 := b[round]
			if ok1 && ok2 {
				out = append(out, y/x)
			}
		}
		return out
	}
	for _, v := range r.Variants {
		c := trial.Cell{
			Variant: v.Key, Values: map[string]stat.Interval{}, Ratios: map[string]stat.Interval{},
			Texts: map[string]string{"version": map[bool]string{
				true:  "10.11.11-MariaDB",
				false: "9.7.0",
			}[strings.Contains(v.Key, "mariadb")]},
		}
		for _, t := range r.Trials {
			if t.Variant == v.Key && !t.Control {
				c.Trials++
				if t.Invalid == "" {
					c.Valid++
				}
			}
		}
		if v.Key == failed {
			c.Failed, c.Texts = r.Trials[slices.IndexFunc(r.Trials, func(t trial.Trial) bool {
				return t.Variant == failed
			})].Invalid, nil
			r.Cells = append(r.Cells, c)
			continue
		}
		for _, n := range []string{
			"tps", "p95_ms", "p99_ms", "server_cpu_us_per_op", "client_cpu_us_per_op",
			"cs_per_op", "read_kb_per_op", "write_kb_per_op", "data_bytes",
		} {
			if xs := list(of(v.Key, false, n)); len(xs) > 2 {
				c.Values[n] = about(xs)
				if v.Key != v.Baseline {
					if rs := ratios(of(v.Baseline, false, n), of(v.Key, false, n)); len(rs) > 2 {
						c.Ratios[n] = about(rs)
					}
				}
			}
		}
		if v.Key != v.Baseline {
			c.Verdict = judged(ratios(of(v.Baseline, false, "tps"), of(v.Key, false, "tps")), "tps")
		}
		c.Steady = &stat.Stability{Seconds: 20 * c.Valid, Median: c.Values["tps"].Center, Low: 0.96, CV: 0.021}
		if v.Key == shaky {
			c.Steady.Low, c.Steady.CV, c.Steady.Stalls = 0.06, 0.31, 17
		}
		if strings.Contains(v.Key, "mysql") {
			c.Month, c.Currency = 173.5, "$"
			m := c.Values["tps"]
			per := 173.5 / (30 * 86400) * 1e6
			c.Million = &stat.Interval{
				Center: per / m.Center, Lo: per / m.Hi, Hi: per / m.Lo, N: m.N,
				Confidence: m.Confidence,
			}
		}
		r.Cells = append(r.Cells, c)
	}
	r.Control = judged(ratios(of(control, false, "tps"), of(control, true, "tps")), "tps")
	return r
}

// probeResult is a table of one column: statements measured by themselves, with their plans, and one value lower is
// better.
func probeResult() *trial.Result {
	start := time.Date(2026, 6, 3, 8, 0, 0, 0, time.UTC)
	r := &trial.Result{
		Format: trial.Format, ID: "x-9d2kk", Dyno: "0.2.0", Started: start, Ended: start.Add(4 * time.Minute),
		Plan: plan.Plan{
			Name: "functional-index", Title: "What serves WHERE MONTH(created) = 6?", Topic: "functional indexes",
			Axes: []plan.Axis{{Name: "index"}}, Baseline: map[string]string{"index": "plain index"},
			Table:     plan.Table{Rows: []string{"index"}, Show: []string{"ms", "rows_read", "filesort", "plan"}},
			Trials:    plan.Trials{Min: 5, Max: 5, Margin: 0.05, Conf: 0.95, Seed: 3, Fresh: plan.FreshNone},
			Placement: plan.Placement{Mode: plan.Split},
			Published: []plan.Published{{
				For:  map[string]string{"index": "functional index"},
				Text: "99 015 → 182 rows examined",
			}},
		},
		PlanText: "dyno_plan: 1\nname: functional-index\n",
		Sentence: "With an index on the expression the statement reads 182 rows instead of 99 015 and is 310 times " +
			"as fast.",
		Control: &stat.Verdict{Result: stat.Same, Metric: "ms", Margin: 0.05, Ratio: stat.Interval{
			Center: 1.003,
			Lo:     0.984, Hi: 1.021, N: 5, Confidence: 0.95,
		}},
	}
	for i, x := range []struct {
		name     string
		ms, rows float64
		plan     string
	}{
		{"plain index", 31.2, 99015, "-> Filter: (month(orders.created) = 6)  (cost=10123 rows=99015)\n    -> Table " +
			"scan on orders  (cost=10123 rows=99015)"},
		{"rewritten as a range", 0.121, 182, "-> Index range scan on orders using created over ('2026-06-01' <= " +
			"created < '2026-07-01')  (rows=182)"},
		{"functional index", 0.1, 182, "-> Index lookup on orders using by_month (month(created)=6)  (rows=182)"},
	} {
		key := "index=" + x.name
		r.Plan.Axes[0].Levels = append(r.Plan.Axes[0].Levels, plan.Level{Name: x.name})
		r.Variants = append(r.Variants, plan.Variant{
			Key: key, Levels: map[string]string{"index": x.name},
			Baseline: "index=plain index",
		})
		iv := func(v, share float64) stat.Interval {
			return stat.Interval{Center: v, Lo: v * (1 - share), Hi: v * (1 + share), N: 5, Confidence: 0.95}
		}
		c := trial.Cell{
			Variant: key, Trials: 5, Valid: 5, Texts: map[string]string{"plan": x.plan, "filesort": "no"},
			Values: map[string]stat.Interval{"ms": iv(x.ms, 0.02), "rows_read": iv(x.rows, 0)},
		}
		if i > 0 {
			c.Verdict = &stat.Verdict{
				Result: stat.Better, Metric: "ms", Margin: 0.05, Ratio: iv(31.2/x.ms, 0.03),
				Favour: 1, Adjusted: 0.002, Confidence: 0.95,
			}
			c.Ratios = map[string]stat.Interval{"ms": iv(x.ms/31.2, 0.03), "rows_read": iv(x.rows/99015, 0)}
		}
		r.Cells = append(r.Cells, c)
		for round := 1; round <= 5; round++ {
			at := start.Add(time.Duration(round*30+i*8) * time.Second)
			r.Trials = append(r.Trials, trial.Trial{
				Seq: len(r.Trials) + 1, Round: round, Variant: key, From: at, To: at.Add(2 * time.Second), Setup: 1.5,
				Values: map[string]float64{"ms": x.ms, "rows_read": x.rows}, Texts: map[string]string{"plan": x.plan},
			})
		}
	}
	return r
}

func comparisonSample() *report.Document {
	r := sampleResult()
	return report.Comparison(r, r.Ended.Add(2*time.Second))
}

func probeSample() *report.Document {
	r := probeResult()
	return report.Comparison(r, r.Ended.Add(2*time.Second), report.Command{
		Text: "The same recipe again",
		Line: "dyno recipe run functional-index --scale small",
	})
}
