package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kernelFiles are the settings that databases feel, by the name of the fact. Sources:
// Documentation/admin-guide/sysctl/vm.rst, kernel.rst and mm/transhuge.rst of the kernel.
var kernelFiles = map[string]string{
	"swappiness":                    "proc/sys/vm/swappiness",
	"overcommit_memory":             "proc/sys/vm/overcommit_memory",
	"overcommit_ratio":              "proc/sys/vm/overcommit_ratio",
	"dirty_ratio":                   "proc/sys/vm/dirty_ratio",
	"dirty_background_ratio":        "proc/sys/vm/dirty_background_ratio",
	"dirty_bytes":                   "proc/sys/vm/dirty_bytes",
	"dirty_background_bytes":        "proc/sys/vm/dirty_background_bytes",
	"dirty_expire_centisecs":        "proc/sys/vm/dirty_expire_centisecs",
	"dirty_writeback_centisecs":     "proc/sys/vm/dirty_writeback_centisecs",
	"zone_reclaim_mode":             "proc/sys/vm/zone_reclaim_mode",
	"max_map_count":                 "proc/sys/vm/max_map_count",
	"aio_max_nr":                    "proc/sys/fs/aio-max-nr",
	"numa_balancing":                "proc/sys/kernel/numa_balancing",
	"io_uring_disabled":             "proc/sys/kernel/io_uring_disabled",
	"timer_migration":               "proc/sys/kernel/timer_migration",
	"somaxconn":                     "proc/sys/net/core/somaxconn",
	"isolated_cpus":                 "sys/devices/system/cpu/isolated",
	"sched_preempt":                 "sys/kernel/debug/sched/preempt",
	"sched_features":                "sys/kernel/debug/sched/features",
	"sched_base_slice_ns":           "sys/kernel/debug/sched/base_slice_ns",
	"sched_migration_cost_ns":       "sys/kernel/debug/sched/migration_cost_ns",
	"sched_wakeup_granularity_ns":   "sys/kernel/debug/sched/wakeup_granularity_ns",
	"transparent_huge_page_enabled": "sys/kernel/mm/transparent_hugepage/enabled",
	"transparent_huge_page_defrag":  "sys/kernel/mm/transparent_hugepage/defrag",
}

// chosen are files that list all values and mark the one in force: "always [madvise] never".
var chosen = []string{"transparent_huge_page_enabled", "transparent_huge_page_defrag", "sched_preempt"}

func (e *facts) kernel() {
	const g = "kernel"
	e.file(g, "release", "proc/sys/kernel/osrelease")
	e.file(g, "build", "proc/sys/kernel/version")
	e.file(g, "compiler", "proc/version")
	if s, ok := e.known[g]["compiler"]; ok {
		// "Linux version 6.1.0 (who) (gcc …, GNU ld …) #1 SMP": the second parentheses
		delete(e.known[g], "compiler")
		if _, rest, ok := strings.Cut(s, ") ("); ok {
			if end := strings.LastIndex(rest, ") #"); end > 0 {
				e.set(g, "compiler", rest[:end])
			}
		}
	}
	for name, path := range kernelFiles {
		e.file(g, name, path)
		if v, ok := e.known[g][name]; ok && slices.Contains(chosen, name) {
			e.set(g, name, inBrackets(v))
		}
	}
	if v, ok := e.known[g]["isolated_cpus"]; ok && v == "" {
		e.set(g, "isolated_cpus", "none")
	}
	// Before 5.13 the scheduler's knobs were sysctls; their names moved about, so whatever is there is taken.
	paths, _ := filepath.Glob(e.path("proc/sys/kernel/sched_*"))
	for _, p := range paths {
		if s, ok := word(p); ok && !isDir(p) {
			e.set(g, filepath.Base(p), strings.Join(strings.Fields(s), " "))
		}
	}
	if b, err := os.ReadFile(e.path("proc/meminfo")); err != nil {
		e.miss(g, "huge_pages", why(err))
	} else {
		if n, ok := parseMeminfo(b).HugePagesTotal.Get(); ok {
			e.set(g, "huge_pages", strconv.FormatUint(n, 10))
		} else {
			e.miss(g, "huge_pages", "this kernel has none")
		}
		lines(b, func(fs [][]byte) bool {
			if string(fs[0]) == "Hugepagesize:" && len(fs) == 3 {
				e.set(g, "huge_page_size", string(fs[1])+" "+string(fs[2]))
			}
			return true
		})
	}
	e.mitigations()
	e.swaps()
}

// mitigations sums up what the kernel does against flaws of the CPU; what the CPU is not affected by is left out.
// Source: Documentation/admin-guide/hw-vuln/.
func (e *facts) mitigations() {
	const g = "kernel"
	paths, _ := filepath.Glob(e.path("sys/devices/system/cpu/vulnerabilities/*"))
	if len(paths) == 0 {
		e.miss(g, "mitigations", "this kernel does not show it")
		return
	}
	var s []string
	for _, p := range paths { // Glob sorts
		if t, ok := word(p); ok && t != "Not affected" {
			s = append(s, filepath.Base(p)+": "+t)
		}
	}
	if len(s) == 0 {
		s = []string{"not affected"}
	}
	e.set(g, "mitigations", strings.Join(s, " · "))
}

// swaps names the kinds of swap that are on: a swap in compressed memory is another thing than one on a disk.
func (e *facts) swaps() {
	b, err := os.ReadFile(e.path("proc/swaps"))
	if err != nil {
		e.miss("kernel", "swap", why(err))
		return
	}
	var s []string
	first := true
	lines(b, func(fs [][]byte) bool {
		if !first && len(fs) >= 3 {
			s = append(s, string(fs[0])+" ("+string(fs[1])+")")
		}
		first = false
		return true
	})
	if len(s) == 0 {
		s = []string{"none"}
	}
	e.set("kernel", "swap", strings.Join(s, ", "))
}

// inBrackets returns the marked value of "always [madvise] never", or the text itself when nothing is marked.
func inBrackets(s string) string {
	if _, rest, ok := strings.Cut(s, "["); ok {
		if v, _, ok := strings.Cut(rest, "]"); ok {
			return v
		}
	}
	return s
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
