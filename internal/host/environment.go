package host

import (
	"maps"
	"os"
)

// facts collects what was read and, by name, why something was not.
type facts struct {
	known   map[string]map[string]string
	unknown map[string]string
}

func (fs *facts) set(group, name, value string) {
	if fs.known[group] == nil {
		fs.known[group] = map[string]string{}
	}
	fs.known[group][name] = value
}

func (fs *facts) miss(group, name, why string) { fs.unknown[group+"."+name] = why }

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
	e := &facts{known: map[string]map[string]string{}, unknown: map[string]string{}}
	f.machine(e)
	f.kernel(e)
	devices := []string(nil)
	if path == "" {
		e.miss("storage", "all", "no path was named")
	} else {
		devices = f.storage(e, path)
	}
	if pid <= 0 {
		e.miss("server", "all", "the server's process is unknown")
		e.miss("limit", "all", "the server's process is unknown")
	} else {
		f.process(e, "server", pid)
		maps.Copy(group(e, "limit"), f.limitFacts(e, "limit.", pid, devices))
	}
	f.process(e, "client", os.Getpid())
	for k, v := range f.limitFacts(e, "client.limit_", os.Getpid(), devices) {
		e.set("client", "limit_"+k, v)
	}
	return e.known, e.unknown
}

func group(e *facts, name string) map[string]string {
	if e.known[name] == nil {
		e.known[name] = map[string]string{}
	}
	return e.known[name]
}
