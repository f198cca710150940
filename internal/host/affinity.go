package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// maxCPUs is how many CPUs the masks have room for.
const maxCPUs = 1024

// ErrCPUs says that a list of CPUs cannot be used.
var ErrCPUs = errors.New("not a list of CPUs")

// ErrNotAllowed says that a CPU is outside the mask that this program was started with: somebody decided that, and Dyno
// obeys.
var ErrNotAllowed = errors.New("outside of the CPUs that are allowed")

// ParseCPUs reads a list of CPUs as taskset -c takes it: "0", "0,2-3", "0-6:2" (every second). The result is in order
// and has each CPU once. Its error is ErrCPUs.
func ParseCPUs(list string) ([]int, error) {
	bad := func(why string) ([]int, error) {
		return nil, fmt.Errorf("%w: %q: %s; write it as 0,2-3", ErrCPUs, list, why)
	}
	var set cpuSet
	for part := range strings.SplitSeq(list, ",") {
		span, by, hasStep := strings.Cut(strings.TrimSpace(part), ":")
		lo, hi, isRange := strings.Cut(span, "-")
		a, ok := number([]byte(lo))
		if !ok {
			return bad(fmt.Sprintf("%q is not a number", lo))
		}
		b, step := a, uint64(1)
		if isRange {
			if b, ok = number([]byte(hi)); !ok {
				return bad(fmt.Sprintf("%q is not a number", hi))
			}
		}
		if hasStep {
			if step, ok = number([]byte(by)); !ok || step == 0 || !isRange {
				return bad(fmt.Sprintf("%q is not a step", by))
			}
		}
		if b < a {
			return bad(fmt.Sprintf("%s runs backwards", span))
		}
		if b >= maxCPUs {
			return bad(fmt.Sprintf("CPU %d is beyond %d", b, maxCPUs-1))
		}
		for c := a; c <= b; c += min(step, maxCPUs) {
			set.Set(int(c))
		}
	}
	return members(&set), nil
}

// FormatCPUs writes CPUs as ParseCPUs reads them, the shortest way: "0-2,5". It is "" for none.
func FormatCPUs(cpus []int) string {
	cpus = slices.Compact(slices.Sorted(slices.Values(cpus)))
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}

func members(set *cpuSet) (cpus []int) {
	for c := range maxCPUs {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus
}

// inherited is the mask this program was started with. It is a constant of the process that must be read before Pin
// narrows it.
var inherited = sync.OnceValues(func() ([]int, error) { return Affinity(os.Getpid()) })

// Allowed returns the CPUs that this program may use: the mask that it inherited (taskset, a cpuset, a container), also
// after Pin has narrowed it. What is started for a measurement may use them all, wherever Dyno itself has gone.
func Allowed() ([]int, error) {
	cpus, err := inherited()
	return slices.Clone(cpus), err
}

// CheckCPUs returns an ErrNotAllowed that names the allowed CPUs when one of cpus is not among them, and ErrCPUs for
// none.
func CheckCPUs(cpus []int) error {
	allowed, err := Allowed()
	if err != nil {
		return err
	}
	if len(cpus) == 0 {
		return fmt.Errorf("%w: none given; allowed are %s", ErrCPUs, FormatCPUs(allowed))
	}
	var out []int
	for _, c := range cpus {
		if !slices.Contains(allowed, c) {
			out = append(out, c)
		}
	}
	if len(out) > 0 {
		return fmt.Errorf("CPU %s is %w: %s", FormatCPUs(out), ErrNotAllowed, FormatCPUs(allowed))
	}
	return nil
}

// Affinity returns the CPUs that the main thread of a process may use now; those it starts inherit the mask of their
// maker.
func Affinity(pid int) ([]int, error) {
	var set cpuSet
	if err := getAffinity(pid, &set); err != nil {
		return nil, fmt.Errorf("read affinity of process %d: %w", pid, gone(err))
	}
	return members(&set), nil
}

// Pin lets all threads of this program run on cpus alone, which must be Allowed. It returns when there is no other
// thread; new ones, and processes that are started, inherit the mask. How many threads Go runs at once (GOMAXPROCS) is
// the caller's.
func Pin(cpus []int) error {
	if err := CheckCPUs(cpus); err != nil {
		return fmt.Errorf("pin this program: %w", err)
	}
	return PinProcess(os.Getpid(), cpus)
}

// PinProcess is Pin for another process and the CPUs are any that the kernel lets it have. It needs the same user or
// root.
func PinProcess(pid int, cpus []int) error {
	var want cpuSet
	for _, c := range cpus {
		if c < 0 || c >= maxCPUs {
			return fmt.Errorf("%w: CPU %d", ErrCPUs, c)
		}
		want.Set(c)
	}
	if want.Count() == 0 {
		return fmt.Errorf("%w: none given", ErrCPUs)
	}
	// A thread that is not pinned yet may have started one that the list does not show. Such a thread is in the next
	// list; when two lists running held no thread to pin, nobody is left who could start one.
	for clean, pass := 0, 0; clean < 2; pass++ {
		if pass == 1000 {
			return fmt.Errorf("pin process %d: it starts threads faster than they can be pinned", pid)
		}
		tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return fmt.Errorf("pin process %d: %w", pid, gone(err))
		}
		clean++
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			var have cpuSet
			err = getAffinity(tid, &have)
			if err == nil && have != want {
				clean = 0
				if err = setAffinity(tid, &want); err == nil {
					err = getAffinity(tid, &have) // the kernel leaves out what a cpuset does not hold, without a word
				}
				if err == nil && have != want {
					return fmt.Errorf("pin process %d: the kernel grants CPU %s of %s, the rest is offline or "+
						"outside of its cpuset",
						pid, FormatCPUs(members(&have)), FormatCPUs(cpus))
				}
			}
			if err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("pin thread %d of process %d to CPU %s: %w", tid, pid, FormatCPUs(cpus), err)
			}
		}
	}
	return nil
}
