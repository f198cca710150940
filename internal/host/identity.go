package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// Identity names one process for ever: a PID is given out again after its process has ended, PID, start time and boot
// together are not. The zero Identity is no process.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks from boot to its start, proc(5) stat field 22
	Boot  string `json:"boot"`  // /proc/sys/kernel/random/boot_id
}

// ErrNoProcess says that there is no such process, or only its remains that nobody has waited for.
var ErrNoProcess = errors.New("no such process")

// IdentityOf returns who the process with the PID is now. Its error is ErrNoProcess when there is none.
func IdentityOf(pid int) (Identity, error) {
	if pid <= 0 {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, ErrNoProcess)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		// A process that ends between open and read gives ESRCH, which package fs does not know.
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			err = ErrNoProcess
		}
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	state, start, err := parseStart(stat)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, ErrNoProcess)
	}
	return Identity{PID: pid, Start: start, Boot: string(bytes.TrimSpace(boot))}, nil
}

// Alive reports whether this very process still runs. A process that another one took the PID of is not alive, nor is
// one that has ended and waits for its parent to notice.
func (i Identity) Alive() bool {
	now, err := IdentityOf(i.PID)
	return err == nil && now == i
}

// parseStart returns the state and the start time of a line of /proc/PID/stat. The command's name stands in parentheses
// and may itself hold any character, so the fields count from the last one.
func parseStart(line []byte) (state byte, start uint64, err error) {
	end := bytes.LastIndexByte(line, ')')
	if end < 0 {
		return 0, 0, fmt.Errorf("stat %q: no command name", line)
	}
	f := bytes.Fields(line[end+1:]) // f[0] is field 3
	if len(f) < 20 || len(f[0]) != 1 {
		return 0, 0, fmt.Errorf("stat %q: %d fields after the command name, want 20", line, len(f))
	}
	start, err = strconv.ParseUint(string(f[19]), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("stat %q: start time: %w", line, err)
	}
	return f[0][0], start, nil
}
