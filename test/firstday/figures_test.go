package firstday_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type (
	graphs struct {
		Panels []struct {
			ID    string
			Lines []struct {
				Name string
				Mean []*float64
			}
		}
	}
	moment struct {
		Vitals []struct {
			N string
			V float64
		}
		Sessions    []struct{ Command string }
		Connections *float64
		Idle        *float64
		Left        struct{ Sessions int }
	}
	load struct {
		Classes []struct {
			ID, Fingerprint string
			MaxSec          *float64 `json:"max_sec"`
			TimeSec         float64  `json:"time_sec"`
			Count           float64
		}
		Coverage struct {
			Observed float64  `json:"observed_seconds"`
			Rate     *float64 `json:"statements_per_second"`
		}
	}
	periods struct {
		Result  string
		Notes   []string
		Classes []struct{ Change string }
	}
	kept struct {
		Keeping []struct {
			Kind   string
			Oldest time.Time
		}
	}
)

// line returns the figures of a line of a graph from a moment on, second by second, those that are unknown left out.
func (v *served) line(target, panel, name string, from time.Time) (figures []float64, err error) {
	g, err := get[graphs](v, "graphs", "target", target, "panel", panel, "step", "1", "from", unix(from),
		"to", unix(time.Now()))
	if err != nil {
		return nil, err
	}
	for _, p := range g.Panels {
		for _, l := range p.Lines {
			if p.ID == panel && l.Name == name {
				for _, x := range l.Mean {
					if x != nil {
						figures = append(figures, *x)
					}
				}
				return figures, nil
			}
		}
	}
	return nil, fmt.Errorf("%s has no line %q: %+v", panel, name, g)
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// beside runs the program until the function that is returned is called. What it writes to its standard output goes to
// out, which may be nil.
func (s *shop) beside(out *said, args ...string) (end func()) {
	s.t.Helper()
	c, all := exec.Command(dyno, args...), &said{}
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), "DYNO_HOME="+s.home, "HOME="+s.home), all, all
	if out != nil {
		c.Stdout = out
	}
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		_ = c.Process.Signal(syscall.SIGINT)
		select {
		case <-done:
		case <-time.After(patience):
			_ = c.Process.Kill()
			s.t.Errorf("dyno %v does not end:\n%s", args, all)
		}
	}
	s.t.Cleanup(end)
	return end
}

// idle: of a server that nobody uses the headlines say so, though Dyno makes it count several tables and scans a
// second. What a session of Dyno's does while it is set up may be seen once.
func (v *served) idle(target string) {
	began := time.Now()
	for name, most := range map[string]float64{"temporary tables": 2, "full scans": 2, "on disk": 0} {
		var all []float64
		v.until("an idle "+target+" has figures for "+name, func() (err error) {
			if all, err = v.line(target, "temporary", name, began); err == nil && len(all) < 10 {
				err = fmt.Errorf("only %v", all)
			}
			return err
		})
		sum := 0.0
		for _, x := range all {
			sum += x
		}
		if sum > most {
			v.t.Errorf("%s, which is idle, has %s: %v a second", target, name, all)
		}
	}
}

// withoutOwn: no finding rests on Dyno's own temporary tables, neither of a server that is watched twice nor of one
// that is diagnosed meanwhile.
func (v *served) withoutOwn(target string) {
	all := findings(v.t, v.dyno(nil, "--quiet", "diagnose", target, "--window", "5s", "--output", "json"))
	f, err := get[found](v, "findings", "target", target)
	for _, x := range f.Open {
		all = append(all, x.Finding)
	}
	if err != nil || slices.ContainsFunc(all, func(f finding) bool { return f.Rule == "disk-temp-tables" }) {
		v.t.Errorf("%s: %v, %+v", target, err, all)
	}
}

// agree: statements a second are one number on the page of queries and in the graph, and the tiles of a moment are
// those of its list.
func (v *served) agree(target string, from time.Time) {
	v.until("statements a second of "+target+" agree", func() error {
		q, err1 := get[load](v, "classes", "target", target, "from", unix(from), "to", unix(time.Now()))
		all, err2 := v.line(target, "throughput", "statements", from)
		if err := errors.Join(err1, err2); err != nil || len(all) == 0 || q.Coverage.Rate == nil {
			return errors.Join(err, fmt.Errorf("%v beside %+v", all, q.Coverage))
		}
		sum := 0.0
		for _, x := range all {
			sum += x
		}
		if mean := sum / float64(len(all)); *q.Coverage.Rate > 1.5*mean || *q.Coverage.Rate < mean/1.5 {
			return fmt.Errorf("%v by classes, %v by the graph", *q.Coverage.Rate, mean)
		}
		for _, c := range q.Classes {
			if strings.Contains(c.Fingerprint, "email") && c.TimeSec > 0 &&
				(c.MaxSec != nil && *c.MaxSec > 0 || target == "exact") {
				// digests know a longest of all times
				return nil
			}
		}
		return fmt.Errorf("no time of the slow statement: %+v", q)
	})
	v.until("the tiles of "+target+" are those of the list", func() error {
		s, err := get[moment](v, "state", "target", target)
		if err != nil || s.Connections == nil || s.Idle == nil {
			return errors.Join(err, fmt.Errorf("%+v", s))
		}
		busy := 0
		for _, x := range s.Sessions {
			if x.Command != "Sleep" {
				busy++
			}
		}
		for _, x := range s.Vitals {
			if x.N == "threads_connected" && math.Abs(x.V-*s.Connections) > 1 || x.N == "threads_running" &&
				math.Abs(x.V-float64(busy)) > 4 {
				return fmt.Errorf("%+v", s)
			}
		}
		return nil
	})
}

// truthful asserts what the trial found untrue of times that nothing is known of, and of what is kept.
func (v *served) truthful(began time.Time) {
	t := v.t
	now := time.Now()
	p, err := get[periods](v, "compare-classes", "target", "exact", "from", unix(began), "to", unix(now), "before_from",
		unix(began.Add(-2*time.Hour)), "before_to", unix(began.Add(-time.Hour)))
	if err != nil || p.Result != "invalid" || !strings.Contains(fmt.Sprint(p.Notes),
		"nothing was observed in the period before") {
		t.Errorf("compared with an hour that has no data: %v, %+v", err, p)
	}
	for _, c := range p.Classes {
		if c.Change != "unclear" {
			t.Errorf("a class is %s since an hour that has no data", c.Change)
		}
	}
	k, err := get[kept](v, "settings")
	if err != nil || len(k.Keeping) == 0 {
		t.Errorf("what is kept: %v, %+v", err, k)
	}
	for _, x := range k.Keeping {
		if !x.Oldest.IsZero() && x.Oldest.Before(began.Add(-time.Minute)) { // a roll-up begins with its minute
			t.Errorf("%s is kept since %s, and nothing before %s was seen", x.Kind, x.Oldest, began)
		}
	}
	took := map[string]int64{} // several kinds are in one file
	for l := range strings.Lines(v.dyno(nil, "store", "usage", "--output", "json")) {
		var u struct {
			Kind, Path string
			Bytes      int64
		}
		if err := json.Unmarshal([]byte(l), &u); err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		took[u.Path] += u.Bytes
	}
	for path, n := range took {
		if log, err := os.Stat(path + "-wal"); err == nil && n < log.Size() {
			t.Errorf("%s takes %d bytes beside a log of %d", path, n, log.Size())
		}
	}
	asked := time.Now()
	d := v.dyno([]string{"TZ=UTC"}, "digest", "--target", "exact", "--time", "3s")
	if strings.Contains(d, "at byte") || !strings.Contains(d, "Time range: ") {
		t.Errorf("a digest of a server has bytes of a file:\n%s", d)
	}
	for _, x := range regexp.MustCompile(`Time range: (?:all events occurred at )?(\d{4}-\d\d-\d\d.\d\d:\d\d:\d\d)`).
		FindAllStringSubmatch(d, -1) {
		if at, err := time.Parse(time.DateTime, strings.Replace(x[1], "T", " ", 1)); err != nil ||
			at.Before(asked.Add(-2*time.Second)) {
			t.Errorf("a digest of 3 s from %s on has %q, %v", asked, x[0], err)
		}
	}
	if plan := v.dyno(nil, "recipe", "run", "index-order", "--dry-run"); !regexp.MustCompile(`time +about [1-9]`).
		MatchString(plan) {
		t.Errorf("a recipe that takes no time:\n%s", plan)
	}
}
