package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// lockedBuffer may be read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestShare(t *testing.T) {
	f := func(a, b CPUTimes, want Shares, ok bool) {
		t.Helper()
		got, err := Share(Reading{CPU: a}, Reading{CPU: b})
		if got != want || (err == nil) != ok {
			t.Errorf("%+v → %+v: got %+v (%v), want %+v", a, b, got, err, want)
		}
	}
	f(CPUTimes{}, CPUTimes{User: 1, Nice: 1, System: 1, IRQ: 0.5, SoftIRQ: 0.5, Idle: 4, IOWait: 1, Steal: 1},
		Shares{Busy: 0.4, IOWait: 0.1, Steal: 0.1}, true)
	// idle times may go back
	f(CPUTimes{Idle: 10, IOWait: 2}, CPUTimes{Idle: 9.5, IOWait: 1, User: 1}, Shares{Busy: 1}, true)
	f(CPUTimes{User: 5}, CPUTimes{User: 5}, Shares{}, false)
	f(CPUTimes{User: 5}, CPUTimes{User: 1, Idle: 9}, Shares{}, false) // started again
}

// TestMeterSeesCPU sets a process that burns a known time beside what its meter says.
func TestMeterSeesCPU(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; times >&2; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr lockedBuffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	m, err := Begin(cmd.Process.Pid, "/")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	fmt.Fprintln(in)
	for end := time.Now().Add(time.Minute); !strings.Contains(stderr.String(), "\n"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not end")
		}
	}
	u, err := m.End()
	if err != nil {
		t.Fatal(err)
	}
	wall := time.Since(from).Seconds()
	var um, sm int // what the shell itself has used, by times(1)
	var us, ss float64
	if _, err := fmt.Sscanf(stderr.String(), "%dm%fs %dm%fs", &um, &us, &sm, &ss); err != nil {
		t.Fatalf("%q: %v", stderr.String(), err)
	}
	want := float64(um*60+sm*60) + us + ss
	if got := u.UserSec.Or(0) + u.SystemSec.Or(0); got < want-0.05 || got > want+0.05 {
		t.Errorf("%.3f CPU seconds, the process says %.3f", got, want)
	}
	if u.Seconds <= 0 || u.Seconds > wall+0.01 || u.Machine.Busy <= 0 || u.Machine.Busy > 1 || len(u.CPUs) == 0 {
		t.Errorf("%+v in %.3f s", u, wall)
	}
}

// TestMeterSeesBytes sets bytes that this process writes and syncs beside what its meter says of it and of the device.
func TestMeterSeesBytes(t *testing.T) {
	const size = 32 << 20
	dir := t.TempDir()
	place, err := DiskOf(dir)
	if errors.Is(err, ErrNoDevice) {
		t.Logf("no device below %s: only the process is measured", place.Filesystem)
	}
	m, err := Begin(os.Getpid(), dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, 1<<20)
	for range size >> 20 {
		if _, err := f.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	u, err := m.End()
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := u.WriteBytes.Get(); !ok || got < size || got > size*5/4 {
		t.Errorf("the process wrote %d bytes, its meter says %v", size, u.WriteBytes)
	}
	if got, ok := u.DeviceWriteBytes.Get(); place.Device != "" && (!ok || got < size) { // others may write there too
		t.Errorf("%d bytes were synced to %s, its meter says %v", size, u.Device, u.DeviceWriteBytes)
	}
}

// TestMeterOfAServer sets the work of a real server beside its meter, and loses nothing with threads that end when it
// looks at them.
func TestMeterOfAServer(t *testing.T) {
	s := servers.Start(t, "mariadb", "thread-cache-size=0")
	m, err := Begin(s.PID, s.Dir+"/data")
	if err != nil {
		t.Fatal(err)
	}
	db := s.DB(t, "")
	db.SetMaxOpenConns(1)
	var id int
	if err := db.QueryRow("SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	before := s.Status(t, "Questions")
	for range 500 { // each waits for the client: at least one switch
		if _, err := db.Exec("DO 1"); err != nil {
			t.Fatal(err)
		}
	}
	if after := s.Status(t, "Questions"); after < before+500 {
		t.Fatalf("%d questions, then %d", before, after)
	}
	m.Look()
	db.Close() // its thread ends with it
	admin := s.DB(t, "")
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var left int
		if err := admin.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", id).
			Scan(&left); err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the connection stays")
		}
	}
	u, err := m.End()
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := u.Switches.Get(); !ok || n < 400 {
		t.Errorf("%v context switches for 500 questions; notes %q", u.Switches, u.Notes)
	}
	if !u.AtLeast || u.ThreadsEnded == 0 || len(u.Notes) == 0 {
		t.Errorf("threads ended, and the meter says %+v", u)
	}
	if !u.UserSec.OK() || !u.ReadBytes.OK() || !u.WriteBytes.OK() {
		t.Errorf("%+v", u)
	}
	s.Kill(t)
	if _, err := m.End(); err == nil {
		t.Error("the meter goes on without its server")
	}
	if _, err := Begin(s.PID, s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("begin without a server: %v", err)
	}
}
