package host

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestSpeedometer(t *testing.T) {
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	busyThreads(200 * time.Millisecond) // what a thread did before it came to the Speedometer is not the Speedometer's
	s, err := StartSpeedometer(cpus)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	var speed float64
	ok := false
	for end := from.Add(30 * time.Second); !ok && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		speed, ok = s.Speed(from, time.Now())
	}
	wall := time.Since(from)
	s.Stop()
	if u := s.Used(); u <= 0 || u > wall/10 {
		t.Errorf("it used %v of CPU in %v", u, wall)
	}
	if !ok || speed < 100 || speed > 10e6 {
		t.Errorf("a speed of %v pieces of work a second, %v", speed, ok)
	}
	if _, ok := s.Speed(time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)); ok {
		t.Error("a speed of the future")
	}
	if now, err := Affinity(0); err != nil || len(now) != len(cpus) {
		t.Errorf("this thread may use %v after it, %v", now, err)
	}
	if _, err := StartSpeedometer(nil); !errors.Is(err, ErrCPUs) {
		t.Errorf("no CPUs: %v", err)
	}
	if _, err := StartSpeedometer([]int{1000}); err == nil {
		t.Error("a CPU that is not there is measured")
	}
}

// TestSpeedometerLeavesTheMainThread starts so many that some begin on the main thread, whose mask is the program's for
// others.
func TestSpeedometerLeavesTheMainThread(t *testing.T) {
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		s, err := StartSpeedometer(cpus[:1])
		if err != nil {
			t.Fatal(err)
		}
		s.Stop()
	}
	if now, err := Affinity(os.Getpid()); err != nil || len(now) != len(cpus) {
		t.Errorf("the main thread may use %v of %v after it, %v", now, cpus, err)
	}
}

// busyThreads gives every idle thread of this program some CPU time.
func busyThreads(d time.Duration) {
	var all sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for end := time.Now().Add(d); time.Now().Before(end); { // busy
			}
		})
	}
	all.Wait()
}

// TestSpeedUnderLoad: a thread that shares its CPU with busy ones gets fewer turns, but its CPU is not slower for that.
func TestSpeedUnderLoad(t *testing.T) {
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	s, err := StartSpeedometer(cpus[:1])
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	measure := func() float64 {
		from := time.Now()
		for end := from.Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if v, ok := s.Speed(from, time.Now()); ok && time.Since(from) > time.Second {
				return v
			}
		}
		t.Fatal("no samples")
		return 0
	}
	idle := measure()
	var stop atomic.Bool
	for range 3 {
		go func() {
			runtime.LockOSThread()
			for !stop.Load() { // busy
			}
		}()
	}
	busy := measure()
	stop.Store(true)
	if r := busy / idle; r < 0.25 || r > 4 {
		t.Errorf("speed %v idle, %v with others on the CPUs", idle, busy)
	}
}

// TestSpeedStolen: half of what was wanted was given, so the speed is half.
func TestSpeedStolen(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(100, 0).Add(time.Duration(ms) * time.Millisecond) }
	var s Speedometer
	for i := range 400 {
		s.samples = append(s.samples, speedSample{at(10 * i), time.Millisecond})
	}
	for i := range 20 { // a second of it from 1 s to 2 s
		stolen := 0.5 * float64(min(max(i-5, 0), 5)) / 5
		s.given = append(s.given, givenSample{at(200 * i), 0.1 * float64(i), stolen})
	}
	f := func(from, to int, want float64) {
		t.Helper()
		got, ok := s.Speed(at(from), at(to))
		if !ok || got < want*0.999 || got > want*1.001 {
			t.Errorf("%d to %d ms: %v, %v; want %v", from, to, got, ok, want)
		}
	}
	f(0, 1000, 1000)
	f(1000, 2000, 500)
	f(2000, 3000, 1000)
	f(0, 2000, 1000/1.5)
	s.given = nil
	f(1000, 2000, 1000)
}
