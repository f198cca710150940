package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Files are the files of a machine: Remote has those of another one. Paths are absolute. Errors wrap os.ErrNotExist and
// os.ErrPermission where that is what the kernel said.
type Files interface {
	// Read returns what is in a file, at most mostFile bytes. It is valid until the next turn.
	Read(path string) ([]byte, error)
	// Names returns the names in a directory, Count how many there are.
	Names(dir string) ([]string, error)
	Count(dir string) (int, error)
	// Link returns where a symbolic link points to, Real where a path without links does.
	Link(path string) (string, error)
	Real(path string) (string, error)
	// Room returns the size of the file system of a path and what is left of it for users other than root, bytes.
	Room(path string) (total, avail uint64, err error)
	// Want says that files will be read next: those of another machine then come together.
	Want(paths ...string)
}

// Here reports whether f is of this machine.
func Here(f FS) bool { return f.Files == nil }

// Within returns f with its files read within ctx, where they are of another machine.
func Within(f FS, ctx context.Context) FS {
	if x, ok := f.Files.(*remoteFiles); ok {
		f.Files = &remoteFiles{r: x.r, ctx: ctx}
	}
	return f
}

func slurpOf(f FS, buf *[]byte, path string) ([]byte, error) {
	if f.Files != nil {
		return f.Files.Read(path)
	}
	return slurp(path, buf)
}

func readOf(f FS, path string) ([]byte, error) {
	if f.Files != nil {
		return f.Files.Read(path)
	}
	return os.ReadFile(path)
}

func wordOf(f FS, path string) (string, bool) {
	b, err := readOf(f, path)
	return strings.TrimSpace(string(b)), err == nil
}

func namesOf(f FS, dir string) ([]string, error) {
	if f.Files != nil {
		return f.Files.Names(dir)
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func linkOf(f FS, path string) (string, error) {
	if f.Files != nil {
		return f.Files.Link(path)
	}
	return os.Readlink(path)
}

func realOf(f FS, path string) (string, error) {
	if f.Files != nil {
		return f.Files.Real(path)
	}
	return filepath.EvalSymlinks(path)
}

func want(f FS, paths ...string) {
	if f.Files != nil {
		f.Files.Want(paths...)
	}
}

// blockDevices returns a function that reports whether a block device is a whole one: these have a directory each.
func blockDevices(f FS) func(name string) bool {
	dir := f.path("sys/block")
	folder := func(name string) string { return strings.ReplaceAll(name, "/", "!") } // as it is written there
	if f.Files == nil {
		return func(name string) bool { return exists(filepath.Join(dir, folder(name))) }
	}
	all, _ := f.Files.Names(dir) // without it no disk is listed
	return func(name string) bool { return slices.Contains(all, folder(name)) }
}

// nodeDirs returns the directories of the NUMA nodes.
func nodeDirs(f FS) (dirs []string) {
	dir := f.path("sys/devices/system/node")
	names, _ := namesOf(f, dir) // a kernel without NUMA has none
	for _, n := range names {
		if id, ok := strings.CutPrefix(n, "node"); ok {
			if _, isNumber := number([]byte(id)); isNumber {
				dirs = append(dirs, path.Join(dir, n))
			}
		}
	}
	return dirs
}

// groupLines reads the control groups of a process: "4:memory:/a" (cgroups(7)).
func groupLines(f FS, pid int) (all []procfs.Cgroup, err error) {
	b, err := readOf(f, f.path("proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		w := strings.SplitN(strings.TrimRight(string(line), "\n"), ":", 3)
		id, ok := number([]byte(w[0]))
		if len(w) != 3 || !ok {
			return nil, fmt.Errorf("%q is no line of a control group", line)
		}
		g := procfs.Cgroup{HierarchyID: int(id), Path: w[2]}
		if w[1] != "" {
			g.Controllers = strings.Split(w[1], ",")
		}
		all = append(all, g)
	}
	return all, nil
}

// mountsOf reads /proc/self/mountinfo (proc_pid_mountinfo(5)).
func mountsOf(f FS) (all []*procfs.MountInfo, err error) {
	b, err := readOf(f, f.path("proc/self/mountinfo"))
	if err != nil {
		return nil, err
	}
	options := func(text string) map[string]string {
		m := map[string]string{}
		for o := range strings.SplitSeq(text, ",") {
			k, v, _ := strings.Cut(o, "=")
			m[k] = v
		}
		return m
	}
	for line := range bytes.Lines(b) {
		w := strings.Fields(string(line))
		end := slices.Index(w, "-")
		if len(w) < 10 || end < 6 || len(w) < end+4 {
			return nil, errors.New("unexpected format of /proc/self/mountinfo")
		}
		all = append(all, &procfs.MountInfo{
			MajorMinorVer: w[2], Root: w[3], MountPoint: w[4], Options: options(w[5]),
			FSType: w[end+1], Source: w[end+2], SuperOptions: options(w[end+3]),
		})
	}
	return all, nil
}

// processStat is a line of /proc/PID/stat (proc_pid_stat(5)); times in seconds.
type processStat struct {
	Name                              string
	State                             byte
	PPID, Threads                     int
	User, System, ChildUser, ChildSys float64
	Start                             uint64 // clock ticks after boot
	Resident                          uint64 // bytes, if its pages have the size of this machine's
}

func statOf(f FS, pid int) (s processStat, err error) {
	b, err := readOf(f, f.path("proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return s, err
	}
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	w := bytes.Fields(b[end+1:])
	if open < 0 || end < open || len(w) < 20 || len(w[0]) != 1 {
		return s, fmt.Errorf("unexpected format of /proc/%d/stat", pid)
	}
	resident := uint64(0)
	if len(w) > 21 {
		n, _ := number(w[21])
		resident = n * uint64(os.Getpagesize())
	}
	field := func(n int) uint64 { v, _ := number(w[n-3]); return v } // by the number that the manual has
	s = processStat{
		Name: string(b[open+1 : end]), State: w[0][0], PPID: int(field(4)), Threads: int(field(20)),
		User: float64(field(14)) / hertz, System: float64(field(15)) / hertz,
		ChildUser: float64(field(16)) / hertz, ChildSys: float64(field(17)) / hertz, Start: field(22),
		Resident: resident,
	}
	return s, nil
}

var errNotCounted = errors.New("the kernel does not count it")

// ioOf returns the bytes that a process has read from and written to disks (proc_pid_io(5)).
func ioOf(f FS, pid int) (read, written uint64, err error) {
	b, err := readOf(f, f.path("proc", strconv.Itoa(pid), "io"))
	if err != nil {
		return 0, 0, err
	}
	found := pick(b, []string{"read_bytes", "write_bytes"})
	for _, c := range found {
		if c.Name == "read_bytes" {
			read = c.Value
		} else {
			written = c.Value
		}
	}
	if len(found) != 2 {
		return 0, 0, errNotCounted
	}
	return read, written, nil
}

// statusOf returns the wanted lines of /proc/PID/status, memory in bytes.
func statusOf(f FS, pid int, names ...string) (map[string]uint64, error) {
	b, err := readOf(f, f.path("proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return nil, err
	}
	m := map[string]uint64{}
	for _, c := range pick(b, names) {
		m[c.Name] = c.Value
	}
	return m, nil
}

// statusField returns the words of a line of /proc/PID/status, nil where there is none.
func statusField(f FS, pid int, name string) []string {
	b, err := readOf(f, f.path("proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Fields(v)
		}
	}
	return nil
}
