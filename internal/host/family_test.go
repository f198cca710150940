package host

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// TestFamily: what children used is kept when they have ended, and is there while they live.
func TestFamily(t *testing.T) {
	c := exec.Command("sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; read x; "+
		"(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done); sh -c 'echo; read y' ; read z")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		c.Wait()
	}()
	say := func() {
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Family(c.Process.Pid)
	if err != nil || a.Processes != 1 || a.Start == 0 || a.AnonBytes == 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	if w, err := Whole(c.Process.Pid); err != nil || w.Start != a.Start || w.Threads != 1 {
		t.Errorf("without children: %+v, %v", w, err)
	}
	m, err := Begin(c.Process.Pid, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	say()
	if _, err := out.Read(make([]byte, 1)); err != nil { // of the second child; the first one has ended
		t.Fatal(err)
	}
	b, err := Family(c.Process.Pid)
	if err != nil || b.Processes != 2 || b.UserSec+b.SysSec <= a.UserSec+a.SysSec || !b.ReadBytes.OK() {
		t.Errorf("%+v, %v, before %+v", b, err, a)
	}
	alone, err := Process(c.Process.Pid)
	if err != nil || b.UserSec+b.SysSec <= alone.UserSec+alone.SysSec {
		t.Errorf("%+v, the parent alone %+v, %v", b, alone, err)
	}
	if len(Started(c.Process.Pid)) != 1 {
		t.Errorf("it has started %v", Started(c.Process.Pid))
	}
	w, err := Whole(c.Process.Pid)
	if err != nil || w.Start != b.Start || w.UserSec+w.SysSec < b.UserSec+b.SysSec || !w.ReadBytes.OK() {
		t.Errorf("%+v, %v, the family %+v", w, err, b)
	}
	u, err := m.End()
	user, _ := u.UserSec.Get()
	sys, _ := u.SystemSec.Get()
	if least := b.UserSec + b.SysSec - a.UserSec - a.SysSec; err != nil || user+sys < least-0.001 {
		t.Errorf("%v of %v seconds measured, %v", user+sys, least, err)
	}
	say()
	say()
	in.Close()
	c.Wait()
	if _, err := Family(c.Process.Pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its end: %v", err)
	}
}
