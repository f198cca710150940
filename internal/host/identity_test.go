package host

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

func TestIdentity(t *testing.T) {
	me, err := IdentityOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !me.Alive() || me.PID != os.Getpid() || me.Start == 0 || me.Boot == "" {
		t.Fatalf("this process is %+v, alive %v", me, me.Alive())
	}
	f := func(change func(*Identity)) {
		t.Helper()
		other := me
		change(&other)
		if other.Alive() {
			t.Fatalf("%+v counts as %+v", other, me)
		}
	}
	f(func(i *Identity) { i.Start++ })       // the PID was given out again
	f(func(i *Identity) { i.Boot = "else" }) // the machine started anew
	f(func(i *Identity) { i.PID = 0 })
	f(func(i *Identity) { *i = Identity{} })
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := IdentityOf(pid); !errors.Is(err, ErrNoProcess) {
			t.Fatalf("process %d: %v", pid, err)
		}
	}
}

// A process keeps its identity through exec, and loses it when it ends, even before its parent has waited for it.
func TestIdentityOfChild(t *testing.T) {
	c := exec.Command("/bin/sh", "-c", "read x; exec sleep 600")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := IdentityOf(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("go\n"))
	in.Close()
	until := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("not in time: " + what)
			}
		}
	}
	until("exec", func() bool {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(c.Process.Pid) + "/comm")
		return string(b) == "sleep\n"
	})
	if !id.Alive() {
		t.Fatal("exec changes the identity")
	}
	c.Process.Kill()
	until("death of a child not waited for", func() bool { return !id.Alive() })
	c.Wait()
	if id.Alive() {
		t.Fatal("alive after wait")
	}
}

func TestParseStart(t *testing.T) {
	f := func(line string, state byte, start uint64, ok bool) {
		t.Helper()
		s, at, err := parseStart([]byte(line))
		if s != state || at != start || (err == nil) != ok {
			t.Fatalf("%q: %c %d %v", line, s, at, err)
		}
	}
	tail := " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n"
	f("12 (mariadbd) S"+tail, 'S', 4711, true)
	f("12 (a) Z 9 (b) c) R"+tail, 'R', 4711, true)
	f("12 (x) S 1 2 3", 0, 0, false)
	f("", 0, 0, false)
}
