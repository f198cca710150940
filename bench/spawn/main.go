// Command spawn runs a command on the given CPUs and prints its resource usage as JSON. It is small because on Linux
// the peak memory of a process is never below that of the process that started it.
//
// Usage: spawn CPU[,CPU...] FILE COMMAND [ARG...]. The command's output goes to FILE, its errors to spawn's standard
// error.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Used is what is printed.
type Used struct {
	Seconds float64 // from start to end
	User    float64 // CPU seconds
	System  float64
	Peak    int64 // largest resident set in bytes
	Code    int
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: spawn CPU[,CPU...] FILE COMMAND [ARG...]")
		os.Exit(2)
	}
	u, err := run(os.Args[1], os.Args[2], os.Args[3:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(u)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "spawn:", err)
		os.Exit(1)
	}
}

func run(cpus, file string, argv []string) (u Used, err error) {
	var set unix.CPUSet
	for _, s := range strings.Split(cpus, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return u, fmt.Errorf("read CPUs %q: %w", cpus, err)
		}
		set.Set(n)
	}
	runtime.LockOSThread() // a process starts with the affinity of the thread that makes it
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return u, fmt.Errorf("bind to CPUs %s: %w", cpus, err)
	}
	out, err := os.Create(file)
	if err != nil {
		return u, err
	}
	defer out.Close()
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdout, c.Stderr = out, os.Stderr
	begin := time.Now()
	err = c.Run()
	u.Seconds = time.Since(begin).Seconds()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return u, err
	}
	u.User, u.System = c.ProcessState.UserTime().Seconds(), c.ProcessState.SystemTime().Seconds()
	u.Peak = c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10 // kilobytes, getrusage(2)
	u.Code = c.ProcessState.ExitCode()
	return u, nil
}
