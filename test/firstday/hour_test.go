package firstday_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// served is a `dyno serve` of a home.
type served struct {
	*shop
	url  string
	said *said
}

// said keeps what the program says.
type said struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *shop) serve(more ...string) *served {
	s.t.Helper()
	v := &served{shop: s, said: &said{}}
	c := exec.Command(dyno, append([]string{"serve", "--listen", "127.0.0.1:0", "--discover=/nowhere"}, more...)...)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), "DYNO_HOME="+s.home, "HOME="+s.home), v.said, v.said
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGINT)
		done := make(chan error, 1)
		go func() { done <- c.Wait() }()
		select {
		case <-done:
		case <-time.After(patience):
			_ = c.Process.Kill()
			s.t.Errorf("dyno serve does not end:\n%s", v.said)
		}
		if s.t.Failed() {
			s.t.Logf("dyno serve said\n%s", v.said)
		}
	})
	at := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	s.until("an address", func() error {
		if v.url = at.FindString(v.said.String()); v.url == "" {
			return errors.New(v.said.String())
		}
		return nil
	})
	return v
}

// get asks the API of a serve and decodes its answer.
func get[T any](v *served, path string, query ...string) (x T, err error) {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	c := http.Client{Timeout: patience}
	r, err := c.Get(v.url + "/api/dyno/v1/" + path + "?" + q.Encode())
	if err != nil {
		return x, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, b)
	}
	if err == nil {
		err = json.Unmarshal(b, &x)
	}
	return x, err
}

type (
	classes struct {
		Classes []struct {
			ID, Fingerprint string
			Sampled         bool
			Count           int
		}
	}
	events struct {
		Events []struct {
			ID, Target, Kind, Text string
			At, Until              time.Time
		}
	}
	targets struct {
		Targets []struct {
			Name          string
			Up            bool
			NotConfigured bool `json:"not_configured"`
			Incidents     []struct{ Kind, Text string }
		}
	}
	found struct {
		Open []struct{ Finding finding }
	}
	health struct {
		Troubles []struct{ Kind, Severity, Text, Fix string }
	}
)

// TestAnHour watches two servers with the same data and load, of which one has performance_schema, through a quiet
// time, a load, sessions that wait for a lock, a piece of advice that was asked for meanwhile, and a server that goes
// down and comes back.
func TestAnHour(t *testing.T) {
	s := open(t)
	exact := open(t, "performance_schema=ON")
	exact.home = s.home
	s.dyno(nil, "target", "add", "shop", s.URL("root"))
	s.dyno(nil, "target", "add", "exact", exact.URL("root"))
	s.dyno(nil, "target", "add", "unset", "mysql://u@127.0.0.1:1", "--password-env", "DYNO_TRIAL_UNSET")
	began := time.Now()
	v := s.serve()

	// Nobody uses the servers yet but Dyno, that is watched by another Dyno, too.
	v.idle("shop")
	v.idle("exact")
	endWatch := s.beside(nil, "watch", "shop")
	v.withoutOwn("shop")
	v.withoutOwn("exact")
	endWatch()

	// The variable of a password is not there: that is no server that is down, and it is told.
	s.until("what is not configured is told", func() error {
		all, err := get[targets](v, "targets")
		if err != nil {
			return err
		}
		h, err := get[health](v, "health")
		for _, x := range all.Targets {
			if x.Name == "unset" && x.NotConfigured && strings.Contains(fmt.Sprint(h), "DYNO_TRIAL_UNSET") {
				return err
			}
		}
		return fmt.Errorf("%+v %+v", all, h)
	})

	// One query is one row with one id, wherever its figures come from, and no row is Dyno's own.
	s.load()
	exact.load()
	idsOf := func(target string) (ids []string, err error) {
		c, err := get[classes](v, "classes", "target", target, "limit", "200")
		for _, x := range c.Classes {
			if strings.Contains(x.Fingerprint, "customers") || strings.Contains(x.Fingerprint, "orders") {
				ids = append(ids, x.ID)
			} else if x.Fingerprint != "set names utf?" {
				err = errors.Join(err, fmt.Errorf("%s: not a query of the shop: %+v", target, x))
			}
		}
		slices.Sort(ids)
		return ids, err
	}
	s.until("each query has one id", func() error {
		sampled, err1 := idsOf("shop")
		counted, err2 := idsOf("exact")
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		other := func(id string) bool { return !slices.Contains(counted, id) }
		if len(counted) != 3 || len(sampled) == 0 || slices.ContainsFunc(sampled, other) {
			// quick ones are seldom sampled
			return fmt.Errorf("sampled %v, counted %v", sampled, counted)
		}
		return nil
	})

	// Figures agree, wherever they stand.
	v.agree("shop", began)
	v.agree("exact", began)
	v.truthful(began)

	// Sessions that wait for one: an event with begin and end, a line of the log, a state of the target, findings.
	lockEvents := func() events {
		all, err := get[events](v, "events", "target", "shop", "kind", "locks")
		if err != nil {
			t.Error(err)
		}
		return all
	}
	piled := time.Now()
	s.pileUp(6, func() {
		s.until("the waits are booked while they last", func() error {
			all, err := v.line("shop", "time", "row locks", piled)
			if err != nil || len(all) == 0 || slices.Max(all) < 6 {
				return errors.Join(err, fmt.Errorf("%v", all))
			}
			return nil
		})
		s.until("the pile-up is told", func() error {
			e := lockEvents()
			all, err := get[targets](v, "targets")
			if err != nil || len(e.Events) != 1 {
				return errors.Join(err, fmt.Errorf("%+v", e))
			}
			for _, x := range all.Targets {
				if x.Name == "shop" && len(x.Incidents) == 1 && strings.Contains(v.said.String(), "ock pile-up") {
					return nil
				}
			}
			return fmt.Errorf("%+v\n%s", all, v.said)
		})
	})
	s.until("the pile-up has an end", func() error {
		if e := lockEvents(); len(e.Events) != 1 || !e.Events[0].Until.After(e.Events[0].At) {
			return fmt.Errorf("%+v", e)
		}
		return nil
	})

	// Advice that is asked for takes nothing away of what was found.
	missing := func() error {
		f, err := get[found](v, "findings", "target", "shop")
		for _, x := range f.Open {
			if x.Finding.Rule == "missing-index" {
				return err
			}
		}
		return errors.Join(err, fmt.Errorf("no missing index among %+v", f))
	}
	s.until("the missing index is found", missing)
	s.dyno(nil, "advise", "config", "shop")
	if err := missing(); err != nil {
		t.Errorf("after other advice: %v", err)
	}

	// A server that goes and comes back.
	exact.Kill(t)
	down := func(want bool) func() error {
		return func() error {
			all, err := get[targets](v, "targets")
			e, err2 := get[events](v, "events", "target", "exact", "kind", "down")
			for _, x := range all.Targets {
				if x.Name == "exact" && x.Up != want && (len(x.Incidents) == 1) == want && len(e.Events) == 1 {
					return errors.Join(err, err2)
				}
			}
			return errors.Join(err, err2, fmt.Errorf("%+v %+v", all, e))
		}
	}
	s.until("the loss of a server is told", down(true))
	exact.Launch(t)
	s.until("its return is told", down(false))
	v.pictures("shop", "exact")
}

// TestAFullDisk: when nothing can be stored any more, the log and every page say so.
func TestAFullDisk(t *testing.T) {
	s := open(t)
	if err := syscall.Mount("tmpfs", s.home, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(s.home, 0); err != nil {
			t.Error(err)
		}
	})
	s.dyno(nil, "target", "add", "shop", s.URL("root"))
	v := s.serve()
	if err := os.WriteFile(filepath.Join(s.home, "others"), make([]byte, 5<<20), 0o600); err != nil &&
		!errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	s.until("the full disk is told", func() error {
		h, err := get[health](v, "health")
		for _, x := range h.Troubles {
			if x.Kind == "disk" && x.Severity == "bad" && x.Fix != "" {
				return err
			}
		}
		return errors.Join(err, fmt.Errorf("%+v", h))
	})
}
