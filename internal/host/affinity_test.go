package host

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
)

func TestParseCPUs(t *testing.T) {
	f := func(list string, want ...int) {
		t.Helper()
		got, err := ParseCPUs(list)
		if want == nil {
			if !errors.Is(err, ErrCPUs) {
				t.Errorf("%q: got %v, %v", list, got, err)
			}
			return
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, %v, want %v", list, got, err, want)
		}
	}
	f("0", 0)
	f("0,2-3", 0, 2, 3)
	f("3, 1,1-2", 1, 2, 3)
	f("0-6:2", 0, 2, 4, 6)
	f("1023", 1023)
	f("0-1:18446744073709551615", 0)
	for _, bad := range []string{
		"", "a", "1-", "-1", "3-1", "1024", "0-18446744073709551615", "1,,2",
		"0-4:0", "2:2", "0x1",
	} {
		f(bad)
	}
}

func TestFormatCPUs(t *testing.T) {
	f := func(want string, cpus ...int) {
		t.Helper()
		if got := FormatCPUs(cpus); got != want {
			t.Errorf("%v: got %q, want %q", cpus, got, want)
		}
		if back, err := ParseCPUs(want); want != "" && (err != nil || FormatCPUs(back) != want) {
			t.Errorf("%q is read back as %v, %v", want, back, err)
		}
	}
	f("")
	f("0", 0)
	f("0-1", 1, 0)
	f("0-2,5,7-8", 8, 7, 5, 2, 1, 0, 2)
}

func TestPin(t *testing.T) {
	allowed, err := Allowed()
	if err != nil || len(allowed) == 0 {
		t.Fatal(allowed, err)
	}
	t.Cleanup(func() {
		if err := PinProcess(os.Getpid(), allowed); err != nil {
			t.Error(err)
		}
	})
	// Threads come and go meanwhile.
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				done := make(chan struct{})
				go func() {
					runtime.LockOSThread() // never unlocked: the thread ends with it
					close(done)
				}()
				<-done
			}
		})
	}
	defer wg.Wait()
	defer close(stop)
	one := allowed[len(allowed)-1:]
	if err := Pin(one); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			tid, _ := strconv.Atoi(task.Name())
			if got, err := Affinity(tid); err == nil && !slices.Equal(got, one) {
				t.Fatalf("thread %d runs on %v, pinned to %v", tid, got, one)
			}
		}
		runtime.Gosched()
	}
	if got, err := Allowed(); err != nil || !slices.Equal(got, allowed) {
		t.Errorf("after Pin %v is allowed, %v, was %v", got, err, allowed)
	}
	if err := Pin([]int{maxCPUs - 1}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("a CPU that nobody has: %v", err)
	}
	if err := Pin(nil); !errors.Is(err, ErrCPUs) {
		t.Errorf("no CPU: %v", err)
	}
}

func TestPinProcess(t *testing.T) {
	allowed, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	if err := PinProcess(c.Process.Pid, allowed[:1]); err != nil {
		t.Fatal(err)
	}
	if got, err := Affinity(c.Process.Pid); err != nil || !slices.Equal(got, allowed[:1]) {
		t.Errorf("runs on %v, %v", got, err)
	}
	if err := PinProcess(c.Process.Pid, []int{maxCPUs - 1}); err == nil {
		t.Error("pinned to a CPU that does not exist")
	}
	c.Process.Kill()
	c.Wait()
	if err := PinProcess(c.Process.Pid, allowed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that is gone: %v", err)
	}
}
