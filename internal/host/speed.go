package host

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sort"
	"sync"
	"time"
)

// Speedometer measures how fast CPUs are while others use them. A virtual CPU shares its core with strangers: its speed
// changes by tens of percent from second to second, and no counter of this machine shows that, for the CPU counts as
// busy all the same. The Speedometer does the same small piece of work again and again on the CPUs it watches, one
// after the other, and takes the CPU time that it needs: waiting for a turn does not count. The work stays within a
// core's own caches, so that what a server does to the caches that cores share does not reach it. Then there is time in
// which the hypervisor runs others in the CPU's place, which the kernel does count: of the time that was wanted, the
// share that was given belongs to the speed.
type Speedometer struct {
	fs   FS
	stop chan struct{}
	done chan struct{}

	mu      sync.Mutex
	samples []speedSample
	given   []givenSample
	used    time.Duration
}

// givenSample sums up the CPUs that are watched, in seconds since boot.
type givenSample struct {
	at           time.Time
	busy, stolen float64
}

type speedSample struct {
	at   time.Time
	took time.Duration
}

const (
	speedPause = 10 * time.Millisecond // between two samples
	speedMost  = 1 << 18               // samples that are kept: the last twenty minutes at least
	speedLeast = 5                     // samples that make a figure
	speedWild  = 3                     // times the median: something else than the CPU's speed was in that sample
	speedWarm  = 1_500                 // steps of work that bring it into the nearest cache again, and are not measured
	speedSteps = 8_000                 // steps of work in a sample
	givenEvery = 20                    // samples between two looks at what was stolen
	givenMost  = speedMost / givenEvery
	givenLeast = 0.05 // seconds of CPU that were wanted; the kernel counts hundredths
)

// StartSpeedometer begins to measure the CPUs, from a thread of its own. Stop ends it. It fails when the CPUs may not
// be used.
func StartSpeedometer(cpus []int) (*Speedometer, error) {
	if len(cpus) == 0 {
		return nil, fmt.Errorf("measure the speed of CPUs: %w: none are named", ErrCPUs)
	}
	s := &Speedometer{fs: FS{}, stop: make(chan struct{}), done: make(chan struct{})}
	started := make(chan error, 1)
	go s.run(cpus, started)
	if err := <-started; err != nil {
		<-s.done
		return nil, err
	}
	return s, nil
}

func (s *Speedometer) run(cpus []int, started chan<- error) {
	defer close(s.done)
	// The thread ends with the goroutine: its mask is good for nobody else. The main thread would not end, and its mask
	// is what others take for the program's: it is held until the work is done on another thread.
	runtime.LockOSThread()
	if thread() == os.Getpid() {
		other := make(chan struct{})
		go func() {
			defer close(other)
			runtime.LockOSThread()
			s.measure(cpus, started)
		}()
		<-other
		runtime.UnlockOSThread()
		return
	}
	s.measure(cpus, started)
}

// measure works on the thread that it is locked to, and narrows its mask.
func (s *Speedometer) measure(cpus []int, started chan<- error) {
	before, _ := threadTime() // the thread may have done other work before
	var w speedWork
	w.fill()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for i := 0; ; i++ {
		select {
		case <-s.stop:
			return
		case <-pause.C:
		}
		if i < len(cpus) || len(cpus) > 1 {
			var mask cpuSet
			mask.Set(cpus[i%len(cpus)])
			if err := setAffinity(0, &mask); err != nil {
				if started != nil {
					started <- fmt.Errorf("measure the speed of CPU %d: %w", cpus[i%len(cpus)], err)
					return
				}
				pause.Reset(speedPause) // the CPU went away
				continue
			}
		}
		if started != nil {
			started <- nil
			started = nil
		}
		if i%givenEvery == 0 {
			s.look(cpus)
		}
		w.do(speedWarm)
		a, err1 := threadTime()
		w.do(speedSteps)
		b, err2 := threadTime()
		if err1 == nil && err2 == nil && b > a {
			s.mu.Lock()
			if len(s.samples) >= speedMost {
				s.samples = append(s.samples[:0], s.samples[speedMost/2:]...)
			}
			s.samples = append(s.samples, speedSample{time.Now(), b - a})
			s.used = b - before
			s.mu.Unlock()
		}
		pause.Reset(speedPause)
	}
}

// look takes note of what the kernel has counted for the CPUs.
func (s *Speedometer) look(cpus []int) {
	all, err := perCPU(s.fs)
	if err != nil {
		return // then nothing counts as stolen
	}
	g := givenSample{at: time.Now()}
	for _, c := range cpus {
		g.busy += all[c].Busy()
		g.stolen += all[c].Steal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.given) >= givenMost {
		s.given = append(s.given[:0], s.given[givenMost/2:]...)
	}
	s.given = append(s.given, g)
}

// share returns which part of the CPU time that was wanted between from and to the hypervisor gave, between 0 and 1.
// The caller holds mu.
func (s *Speedometer) share(from, to time.Time) float64 {
	if len(s.given) == 0 {
		return 1
	}
	last := len(s.given) - 1
	a := max(0, sort.Search(len(s.given), func(i int) bool { return s.given[i].at.After(from) })-1)
	b := min(last, sort.Search(len(s.given), func(i int) bool { return !s.given[i].at.Before(to) }))
	busy, stolen := s.given[b].busy-s.given[a].busy, s.given[b].stolen-s.given[a].stolen
	if busy <= 0 || stolen <= 0 || busy+stolen < givenLeast {
		return 1
	}
	return busy / (busy + stolen)
}

// Stop ends the measurement; what was measured can still be asked for.
func (s *Speedometer) Stop() {
	close(s.stop)
	<-s.done
}

// Speed returns the pieces of work that a CPU did per second that was wanted of it between from and to; not ok with too
// few samples. Its scale is arbitrary: only ratios of speeds of one machine mean something.
func (s *Speedometer) Speed(from, to time.Time) (v float64, ok bool) {
	s.mu.Lock()
	var took []time.Duration
	for _, x := range s.samples {
		if !x.at.Before(from) && x.at.Before(to) {
			took = append(took, x.took)
		}
	}
	given := s.share(from, to)
	s.mu.Unlock()
	if len(took) < speedLeast {
		return 0, false
	}
	slices.Sort(took)
	wild := speedWild * took[len(took)/2]
	sum, n := 0.0, 0
	for _, t := range took {
		if t <= wild {
			sum += 1 / t.Seconds()
			n++
		}
	}
	return given * sum / float64(n), true // of the speeds, not of the times: what a server gets done adds up as they do
}

// Used returns the CPU time that the measuring itself has taken so far: who accounts for this process takes it off.
func (s *Speedometer) Used() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// speedWork is the piece of work.
type speedWork struct {
	table [2048]uint64
	sum   uint64
}

func (w *speedWork) fill() {
	for i := range w.table {
		w.table[i] = uint64(i) * 2654435761 >> 3
	}
}

// do runs independent chains of arithmetic, then look-ups and branches in a small table. Code that keeps all parts of a
// core busy feels a stranger on the same core as a server does; one long chain would not.
//
//go:noinline
func (w *speedWork) do(steps int) {
	a, b, c, d, e, f := w.sum|1, uint64(2), uint64(3), uint64(4), uint64(5), uint64(6)
	for range steps {
		a = a*3 + 1
		b ^= b << 1
		c += a
		d ^= d >> 3
		e += 7
		f ^= e
		b += c
		d += f
	}
	s, x := a+b+c+d+e+f, uint32(1)
	for range steps / 4 {
		x = x*1664525 + 1013904223
		if j := x >> 21; w.table[j]&1 == 0 {
			s += w.table[j]
		} else {
			s ^= w.table[(j+7)&2047]
		}
	}
	w.sum = s
}
