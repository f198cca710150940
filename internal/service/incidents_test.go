package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/test/servers"
)

// logged is a log that may be read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logged) count(text string) int { return strings.Count(l.text(), text) }

// eventually waits until ok, for as long as a busy machine may take.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still not so: " + what)
		}
	}
}

// TestIncidents plants a pile-up of row locks on a real server, shuts the server down and starts it again: each is one
// event with its begin and its end, a state of the fleet and a line of the log, and the pile-up has a diagnosis.
func TestIncidents(t *testing.T) {
	s := servers.Start(t, "mariadb", "innodb_lock_wait_timeout=1000")
	s.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE stock (id INT PRIMARY KEY, n INT NOT NULL) "+
		"ENGINE=InnoDB", "INSERT INTO stock VALUES (1, 10)")
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(),
		ledger.Target{Name: "shop", URL: s.URL("root"), Defaults: os.DevNull},
		false); err != nil {
		t.Fatal(err)
	}
	var log logged
	v, err := New(t.Context(), a, Options{Judge: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- v.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ran, v.Close()); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	events := func(kind event.Kind) (all []event.Event) {
		es, err := app.Actions{App: v.app}.Events(ctx, "shop", began.Add(-time.Hour), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			if e.Kind == kind {
				all = append(all, e)
			}
		}
		return all
	}
	open := func(kind event.Kind) bool {
		m, ok := v.Fleet.Find("shop")
		return ok && len(m.Incidents) == 1 && m.Incidents[0].Kind == kind
	}
	none := func() bool { m, _ := v.Fleet.Find("shop"); return len(m.Incidents) == 0 }
	eventually(t, "the first diagnosis is there", func() bool {
		all, _ := v.Diagnoses.Summaries(ctx, "shop", 0)
		return len(all) == 1
	})
	if !none() {
		t.Fatal("there is an incident before anything happened")
	}

	db := s.DB(t, "shop")
	blocker, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	const update = "UPDATE stock SET n = n - 1 WHERE id = 1"
	if _, err := blocker.ExecContext(ctx, update); err != nil {
		t.Fatal(err)
	}
	var waiters sync.WaitGroup
	for range 4 {
		waiters.Go(func() { _, _ = db.ExecContext(ctx, update) })
	}
	eventually(t, "the fleet has the pile-up", func() bool { return open(event.Locks) })
	eventually(t, "it was diagnosed, and its event says by which", func() bool {
		es := events(event.Locks)
		return len(es) == 1 && es[0].Ref != ""
	})
	if err := blocker.Rollback(); err != nil {
		t.Fatal(err)
	}
	waiters.Wait()
	eventually(t, "it has ended", none)
	eventually(t, "its event has an end", func() bool {
		es := events(event.Locks)
		return len(es) == 1 && strings.HasPrefix(es[0].Text, "Lock pile-up for")
	})
	e := events(event.Locks)[0]
	if d, err := v.Diagnoses.Detail(ctx, e.Ref); err != nil || d.Incident != e.ID || d.Trigger == nil ||
		d.Trigger.ID != e.ID ||
		d.From.Before(e.At) || !e.Until.After(e.At) ||
		!strings.Contains(e.Text, "4 sessions waited, blocked by session") {
		t.Errorf("%+v has diagnosis %+v, %v", e, d.DiagnosisSummary, err)
	}
	eventually(t, "the log says so", func() bool { return log.count("Lock pile-up ended") > 0 })
	if log.count("Lock pile-up ended") != 1 || log.count(`msg="Lock pile-up"`) != 1 {
		t.Errorf("the log: %s", log.text())
	}

	// A machine that is busy for two seconds has outages of its own.
	outages := func() []event.Event {
		return slices.DeleteFunc(events(event.Down), func(e event.Event) bool {
			return !strings.HasPrefix(e.Text, "Server down for")
		})
	}
	before := len(outages())
	s.Kill(t)
	eventually(t, "the fleet has the server down", func() bool { return open(event.Down) })
	s.Launch(t)
	eventually(t, "it is up again", none)
	eventually(t, "its event has an end", func() bool { return len(outages()) > before })
	eventually(t, "the log says so", func() bool { return log.count("Server up again") >= len(outages()) })
	if n := len(outages()); log.count(`msg="Server down"`) != n || log.count("Server up again") != n ||
		len(events(event.Locks)) != 1 {
		t.Errorf("%d outages, the log: %s", n, log.text())
	}
	before = len(outages())

	if err := syscall.Kill(s.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the fleet has the server that hangs down", func() bool { return open(event.Down) })
	if err := syscall.Kill(s.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it answers again", none)
	eventually(t, "that has an end, too", func() bool { return len(outages()) > before })
	es := append(events(event.Gap), events(event.Down)...)
	if slices.ContainsFunc(es, func(e event.Event) bool {
		return strings.Contains(e.Text, "did not answer") && slices.ContainsFunc(outages(), func(o event.Event) bool {
			return e.At.Before(o.Until) && o.At.Before(e.Until)
		})
	}) {
		t.Errorf("that the server was down is marked twice: %+v", es)
	}

	s.Exec(t, "SET GLOBAL max_connections = 10")
	for full := false; !full; {
		c, err := s.DB(t, "shop").Conn(ctx)
		if full = err != nil; !full {
			defer c.Close()
		}
	}
	eventually(t, "the fleet has the connections that were refused", func() bool { return open(event.Refused) })
}

// TestAnOutageIsOneEvent: that the server did not answer is left out where the incident says so, and is told where it
// was too short for one.
func TestAnOutageIsOneEvent(t *testing.T) {
	t0 := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := func(sec int) time.Time { return t0.Add(time.Duration(sec) * time.Second) }
	m := &member{incidents: map[event.Kind]Ongoing{event.Down: {
		Kind: event.Down, Since: at(10),
		until: at(20), open: true,
	}}}
	for _, x := range []struct {
		e    event.Event
		want bool
	}{
		{event.Event{Kind: event.Down, At: at(10), Until: at(21)}, true},
		{event.Event{Kind: event.Down, At: at(9), Until: at(15)}, true},
		{event.Event{Kind: event.Down, At: at(25), Until: at(26)}, false},
		{event.Event{Kind: event.Down, At: at(5), Until: at(6)}, false},
		{event.Event{Kind: event.Gap, At: at(11), Until: at(15)}, false},
		{event.Event{Kind: event.Restart, At: at(19)}, false},
	} {
		if got := m.tracked(x.e); got != x.want {
			t.Errorf("%+v is left out: %v", x.e, got)
		}
	}
	if (&member{}).tracked(event.Event{Kind: event.Down, At: at(10), Until: at(11)}) {
		t.Error("an outage that was too short for an incident is left out")
	}
}

// TestNotConfigured: a password variable that is not set says nothing about the server, and is no incident.
func TestNotConfigured(t *testing.T) {
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(), ledger.Target{
		Name: "shop", URL: "mysql://dyno@127.0.0.1:1",
		PasswordEnv: "SHOP_PASSWORD",
	}, false); err != nil {
		t.Fatal(err)
	}
	var log logged
	v, err := New(t.Context(), a, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- v.Run(ctx) }()
	defer func() {
		stop()
		if err := errors.Join(<-ran, v.Close()); err != nil {
			t.Error(err)
		}
	}()
	var m Member
	eventually(t, "it was tried", func() bool { m, _ = v.Fleet.Find("shop"); return m.State != nil })
	if m.State.Up || !m.State.NotConfigured || m.State.Reason != "not configured: $SHOP_PASSWORD is not set" {
		t.Errorf("%+v", m.State)
	}
	at := m.State.At
	eventually(t, "it was tried for some seconds", func() bool {
		m, _ = v.Fleet.Find("shop")
		return m.State.At.Sub(at) > 2*time.Second
	})
	samples, _ := v.Fleet.Newest("shop")
	if len(m.Incidents) > 0 || log.count("down") > 0 || len(samples) > 0 {
		t.Errorf("%+v %v", m, samples)
	}
	all := slices.DeleteFunc(v.Health(), func(x Trouble) bool { return x.Kind == "disk" }) // of the machine
	if len(all) != 1 || all[0].Kind != "config" ||
		all[0].Text != "shop is not configured: $SHOP_PASSWORD is not set." || all[0].Fix == "" {
		t.Errorf("%+v", all)
	}
}

// TestLoginRefused changes the password of Dyno's account and ends its sessions: the server is not down, for it
// answers. Dyno is let in again as soon as its defaults file has the new password.
func TestLoginRefused(t *testing.T) {
	s := servers.Start(t, "mariadb", "event_scheduler=ON")
	s.Exec(t, "CREATE USER watch@localhost IDENTIFIED BY 'secret-1'", "GRANT PROCESS, SELECT ON *.* TO watch@localhost")
	file := filepath.Join(t.TempDir(), "watch.cnf")
	password := func(p string) {
		if err := os.WriteFile(file, []byte("[client]\nuser=watch\npassword="+p+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	password("secret-1")
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(),
		ledger.Target{Name: "shop", URL: s.URL("watch"), Defaults: file},
		false); err != nil {
		t.Fatal(err)
	}
	var log logged
	v, err := New(t.Context(), a, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- v.Run(ctx) }()
	defer func() {
		stop()
		if err := errors.Join(<-ran, v.Close()); err != nil {
			t.Error(err)
		}
	}()
	var m Member
	up := func() bool { m, _ = v.Fleet.Find("shop"); return m.State != nil && m.State.Up && len(m.Incidents) == 0 }
	eventually(t, "it is up", up)
	// The list of sessions and the headline figures count the same connections: clients' alone.
	eventually(t, "connections are counted", func() bool {
		return up() && m.State.Connections.OK() && m.State.Get(state.Connected).OK() && m.State.Idle.OK()
	})
	if n := m.State.Connections.Or(-1); float64(n) != m.State.Get(state.Connected).Or(-2) {
		t.Errorf("%d connections, of which %d idle; the headline has %v: %+v", n, m.State.Idle.Or(-1),
			m.State.Get(state.Connected), m.State.Sessions)
	}

	s.Exec(t, "ALTER USER watch@localhost IDENTIFIED BY 'secret-2'", "KILL USER watch@localhost")
	eventually(t, "the login is refused", func() bool {
		m, _ = v.Fleet.Find("shop")
		return m.State.LoginRefused &&
			len(m.Incidents) > 0
	})
	if i := m.Incidents[0]; len(m.Incidents) != 1 || m.State.Up || i.Kind != event.Login ||
		!strings.HasPrefix(i.Text, "Login refused: ") || !strings.Contains(i.Text, "Access denied") {
		t.Errorf("%+v %+v", m.State, m.Incidents)
	}
	samples, _ := v.Fleet.Newest("shop")
	if i := slices.IndexFunc(samples, func(x metric.Sample) bool { return x.Name == "mysql_up" }); i < 0 ||
		samples[i].Value != 0 {
		t.Errorf("mysql_up is not 0: %v", samples)
	}
	password("secret-2")
	eventually(t, "it is up again", up)
	// after the state is shown
	eventually(t, "the log says so", func() bool { return log.count(`msg="Logged in again"`) > 0 })
	if log.count(`msg="Login refused"`) != 1 || log.count(`msg="Logged in again"`) != 1 {
		t.Errorf("the log: %s", log.text())
	}
}

// TestDiagnosisWithoutAConnection: while a server has no connection left for a diagnosis, that is made of what the
// watcher still reads, and says first what is wrong.
func TestDiagnosisWithoutAConnection(t *testing.T) {
	s := servers.Start(t, "mariadb", "max_connections=20")
	a := alone(t)
	if _, err := (app.Inventory{App: a}).AddTarget(t.Context(),
		ledger.Target{Name: "shop", URL: s.URL("root"), Defaults: os.DevNull},
		false); err != nil {
		t.Fatal(err)
	}
	v, err := New(t.Context(), a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- v.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ran, v.Close()); err != nil {
			t.Error(err)
		}
	})
	has := func(name string) bool {
		all, _ := v.Fleet.Newest("shop")
		return slices.ContainsFunc(all, func(m metric.Sample) bool { return m.Name == name })
	}
	eventually(t, "the limit was read", func() bool { return has("mysql_global_variables_max_connections") })
	eventually(t, "the sessions were read", func() bool {
		m, _ := v.Fleet.Find("shop")
		return m.State != nil && m.State.Up &&
			m.State.Connections.OK()
	})

	db := s.DB(t, "")
	db.SetMaxOpenConns(0)
	for { // the last one is an administrator's
		conn, err := db.Conn(ctx)
		if err != nil {
			break
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	var d app.Diagnosis
	eventually(t, "the newest reading has them", func() bool {
		if d, err = v.Diagnoses.look(ctx, "shop", family.Look{Window: 3 * time.Second},
			app.Diagnosis{}); err != nil {
			t.Fatal(err)
		}
		return len(d.Findings) > 0 && d.Findings[0].Rule == "connections-full" &&
			d.Findings[0].Severity == finding.Critical
	})
	if f := d.Findings[0]; !strings.Contains(f.Title, " of 20 connections are in use: new clients are refused; 1") ||
		!strings.HasSuffix(f.Title, " of them are idle") {
		t.Errorf("%q", f.Title)
	}
	if i := slices.IndexFunc(d.Snapshot.Sources, func(x source.Source) bool { return x.Name == "plans" }); i < 0 ||
		!strings.Contains(d.Snapshot.Sources[i].Reason, "connections") {
		t.Errorf("%+v", d.Snapshot.Sources)
	}
	j, err := v.Diagnoses.Detail(ctx, d.ID)
	if err != nil || !strings.Contains(j.Sentence, "connections are in use") {
		t.Errorf("%q, %v", j.Sentence, err)
	}
}

// TestReplicaOfSamples: an error, or one thread alone that runs, is a replica that stopped; one that was stopped whole
// is meant.
func TestReplicaOfSamples(t *testing.T) {
	f := func(want string, kv ...any) {
		t.Helper()
		r := reading.Reading{Parts: []reading.Part{{Source: "replication"}}}
		for i := 0; i < len(kv); i += 4 {
			r.Samples = append(r.Samples, metric.Sample{
				Name:   "dyno_replica_" + kv[i].(string),
				Labels: metric.L("channel", kv[i+1].(string), "thread", kv[i+2].(string)), Value: kv[i+3].(float64),
			})
		}
		if got, ok := sampleOf(r, family.Names{}).Replica.Get(); !ok || got != want {
			t.Errorf("%q, %v, want %q", got, ok, want)
		}
	}
	f("") // no replica
	f("", "running", "", "io", 1.0, "running", "", "sql", 1.0)
	f("", "running", "", "io", 0.0, "error", "", "io", 0.0, "running", "", "sql", 0.0, "error", "", "sql", 0.0)
	f("the SQL thread does not run", "running", "", "io", 1.0, "running", "", "sql", 0.0)
	f("the SQL thread does not run, error 1062", "running", "", "io", 1.0, "error", "", "io", 0.0, "running", "", "sql",
		0.0, "error", "", "sql", 1062.0)
	f("channel eu: the IO thread does not run, error 2003", "running", "us", "io", 1.0, "running", "us", "sql", 1.0,
		"running", "eu", "io", 0.0, "error", "eu", "io", 2003.0, "running", "eu", "sql", 1.0)
	r := reading.Reading{
		Parts:   []reading.Part{{Source: "replication"}},
		Sources: []source.Source{{Name: "replication", State: source.Failed}},
	}
	if sampleOf(r, family.Names{}).Replica.OK() || sampleOf(reading.Reading{}, family.Names{}).Replica.OK() {
		t.Error("what was not read is known")
	}
}
