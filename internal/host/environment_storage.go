package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
)

// queueFiles are what the block layer does with requests, by the name of the fact
// (Documentation/ABI/stable/sysfs-block).
var queueFiles = map[string]string{
	"scheduler": "scheduler", "rotational": "rotational", "queue_depth": "nr_requests",
	"read_ahead_kb": "read_ahead_kb", "write_cache": "write_cache",
	"discard_max_bytes": "discard_max_bytes", "logical_block_size": "logical_block_size",
	"physical_block_size": "physical_block_size",
	"max_sectors_kb":      "max_sectors_kb", "nomerges": "nomerges", "rq_affinity": "rq_affinity",
	"writeback_throttle_usec": "wbt_lat_usec",
}

// storage describes what a path lies on and returns the numbers of the devices below it, "major:minor", topmost first.
func (e *facts) storage(path string) (numbers []string) {
	const g = "storage"
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		e.miss(g, "all", why(err))
		return nil
	}
	if ms, err := mountsOf(e.FS); err != nil {
		e.miss(g, "filesystem", why(err))
	} else if m := mountOf(ms, real); m != nil {
		e.set(g, "filesystem", m.FSType)
		e.set(g, "mount_options", mountOptions(m))
	}
	p, err := e.DiskOf(real)
	if p.TotalBytes > 0 {
		e.set(g, "size_bytes", strconv.FormatUint(p.TotalBytes, 10))
	}
	if errors.Is(err, ErrNoDevice) {
		e.set(g, "device", "none: memory, network or a layered filesystem")
		return nil
	} else if err != nil {
		e.miss(g, "device", why(err))
		return nil
	}
	top := p.Device
	if p.Partition != "" {
		top = p.Partition
	}
	stack, numbers := e.stack(top, 0)
	e.set(g, "stack", strings.Join(append([]string{e.known[g]["filesystem"]}, stack...), " on "))
	// Facts are those of the whole device at the bottom, where requests end up; the layers above are named in the
	// stack.
	bottom := e.bottom(p.Device, 0)
	if len(bottom) == 0 {
		e.miss(g, "device", "the layers above it do not report it")
		return numbers
	}
	e.set(g, "device", strings.Join(bottom, " "))
	for name, file := range queueFiles {
		e.each(name, bottom, func(dev string) (string, bool) {
			return word(e.path("sys/block", dev, "queue", file))
		})
	}
	if s, ok := e.known[g]["scheduler"]; ok {
		e.set(g, "scheduler", inBrackets(s))
	}
	e.each("model", bottom, func(dev string) (string, bool) {
		m, ok := word(e.path("sys/block", dev, "device/model"))
		if v, has := word(e.path("sys/block", dev, "device/vendor")); ok && has && !strings.HasPrefix(v, "0x") {
			m = v + " " + m
		}
		return strings.Join(strings.Fields(m), " "), ok && m != ""
	})
	e.each("driver", bottom, func(dev string) (string, bool) {
		link, err := os.Readlink(e.path("sys/block", dev, "device/driver"))
		return filepath.Base(link), err == nil
	})
	e.each("device_bytes", bottom, func(dev string) (string, bool) {
		s, ok := word(e.path("sys/block", dev, "size"))
		n, isNum := number([]byte(s))
		return strconv.FormatUint(n*sector, 10), ok && isNum
	})
	return numbers
}

// each takes a fact of all devices at the bottom, as one text when they agree.
func (e *facts) each(name string, devices []string, read func(string) (string, bool)) {
	count := map[string]int{}
	for _, d := range devices {
		s, ok := read(strings.ReplaceAll(d, "/", "!"))
		if !ok {
			e.miss("storage", name, "the kernel shows none for "+d)
			return
		}
		count[s]++
	}
	e.set("storage", name, tally(count))
}

// mountOptions joins what this mount and its filesystem were given, in order of the alphabet.
func mountOptions(m *procfs.MountInfo) string {
	all := map[string]bool{}
	for _, opts := range []map[string]string{m.Options, m.SuperOptions} {
		for k, v := range opts {
			if v != "" {
				k += "=" + v
			}
			all[k] = true
		}
	}
	var s []string
	for k := range all {
		s = append(s, k)
	}
	slices.Sort(s)
	return strings.Join(s, ",")
}

// deepest bounds how many layers of devices are followed.
const deepest = 16

// stack names the layers from a device downwards: "LVM", "crypt", "raid1 of 2", "loop", "ext4", "partition of sda"… and
// their numbers. Names of loop, dm and md devices are given out in the order of creation and are left out: they say
// nothing about the device.
func (f FS) stack(dev string, depth int) (layers, numbers []string) {
	if depth >= deepest {
		return nil, nil
	}
	at := f.path("sys/class/block", strings.ReplaceAll(dev, "/", "!"))
	if s, ok := word(at + "/dev"); ok {
		numbers = append(numbers, s)
	}
	name := dev
	switch {
	case exists(at + "/partition"):
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			return []string{dev}, numbers
		}
		below, n := f.stack(strings.ReplaceAll(filepath.Base(filepath.Dir(real)), "!", "/"), depth+1)
		return append([]string{"a partition"}, below...), append(numbers, n...)
	case exists(at + "/dm"):
		uuid, _ := word(at + "/dm/uuid")
		kind, _, _ := strings.Cut(uuid, "-")
		name = map[string]string{"LVM": "LVM", "CRYPT": "crypt", "mpath": "multipath"}[kind]
		if name == "" {
			name = "device mapper"
		}
	case exists(at + "/md"):
		name, _ = word(at + "/md/level")
	case strings.HasPrefix(dev, "loop"):
		name = "loop"
		if file, ok := word(at + "/loop/backing_file"); ok {
			if dio, _ := word(at + "/loop/dio"); dio == "1" {
				name = "loop (direct)"
			}
			fs, err := filesystemOf(f, file)
			if err != nil {
				return []string{name}, numbers
			}
			layers = []string{name, fs}
			if p, err := f.DiskOf(file); err == nil {
				top := p.Device
				if p.Partition != "" {
					top = p.Partition
				}
				below, n := f.stack(top, depth+1)
				return append(layers, below...), append(numbers, n...)
			}
			return layers, numbers
		}
	}
	layers = []string{name}
	slaves, _ := os.ReadDir(at + "/slaves")
	if len(slaves) > 1 {
		layers[0] += " of " + strconv.Itoa(len(slaves))
	}
	for i, s := range slaves {
		below, n := f.stack(strings.ReplaceAll(s.Name(), "!", "/"), depth+1)
		numbers = append(numbers, n...)
		if i == 0 { // the members of a RAID are alike in all but name; device lists them
			layers = append(layers, below...)
		}
	}
	return layers, numbers
}

// bottom returns the devices that a whole device is made of in the end.
func (f FS) bottom(dev string, depth int) (out []string) {
	if depth >= deepest {
		return nil
	}
	at := f.path("sys/class/block", strings.ReplaceAll(dev, "/", "!"))
	if _, partition := wordOf(f, at+"/partition"); partition {
		real, err := linkOf(f, at)
		if err != nil {
			return nil
		}
		return f.bottom(strings.ReplaceAll(filepath.Base(filepath.Dir(real)), "!", "/"), depth+1)
	}
	if file, ok := wordOf(f, at+"/loop/backing_file"); ok {
		if p, err := f.DiskOf(file); err == nil {
			return f.bottom(p.Device, depth+1)
		}
		return nil
	}
	slaves, _ := namesOf(f, at+"/slaves") // a disk has none
	for _, s := range slaves {
		for _, d := range f.bottom(strings.ReplaceAll(s, "!", "/"), depth+1) {
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	if len(slaves) == 0 {
		return []string{dev}
	}
	slices.Sort(out)
	return out
}

func filesystemOf(f FS, path string) (string, error) {
	ms, err := mountsOf(f)
	if err != nil {
		return "", err
	}
	if m := mountOf(ms, path); m != nil {
		return m.FSType, nil
	}
	return "", syscall.ENOENT
}
