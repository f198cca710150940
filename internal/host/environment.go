package host

import (
	"maps"
	"os"
)

// facts reads FS and collects what it says and, by name, why something was not read.
type facts struct {
	FS
	known   map[string]map[string]string
	unknown map[string]string
}

func (e *facts) set(group, name, value string) { e.group(group)[name] = value }

func (e *facts) miss(group, name, why string) { e.unknown[group+"."+name] = why }

// Environment describes what a server runs on, as texts by group and name that can be set against those of another time
// or machine. Path is where it keeps its data, pid its process. The groups:
//
//	machine  CPUs, memory, hypervisor, clock source, frequency
//	kernel   release and the settings that databases feel
//	storage  what the path lies on, from the filesystem down to the device
//	server   the process: its control group, CPUs, priority, allocator, limits of open files
//	limit    what the server's control groups allow, under the names of limit.Limits; "none" where nothing is limited
//	client   the same two about this process, which drives the load
//
// Only conditions are listed, nothing that counts: no free memory, no times. A fact that could not be read is in
// unknown with the reason, under "group.name"; it is then not in facts. With pid 0 the groups server and limit are
// unknown, with no path storage is.
func Environment(pid int, path string) (known map[string]map[string]string, unknown map[string]string) {
	return FS{}.Environment(pid, path)
}

// Environment is the function of that name, reading f.
func (f FS) Environment(pid int, path string) (map[string]map[string]string, map[string]string) {
	e := &facts{FS: f, known: map[string]map[string]string{}, unknown: map[string]string{}}
	e.machine()
	e.kernel()
	devices := []string(nil)
	if path == "" {
		e.miss("storage", "all", "no path was named")
	} else {
		devices = e.storage(path)
	}
	if pid <= 0 {
		e.miss("server", "all", "the server's process is unknown")
		e.miss("limit", "all", "the server's process is unknown")
	} else {
		e.process("server", pid)
		maps.Copy(e.group("limit"), e.limitFacts("limit.", pid, devices))
	}
	e.process("client", os.Getpid())
	for k, v := range e.limitFacts("client.limit_", os.Getpid(), devices) {
		e.set("client", "limit_"+k, v)
	}
	return e.known, e.unknown
}

func (e *facts) group(name string) map[string]string {
	if e.known[name] == nil {
		e.known[name] = map[string]string{}
	}
	return e.known[name]
}
