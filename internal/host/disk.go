package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/platform"

	"github.com/prometheus/procfs"
)

// errNotSupported is what reading /proc/pressure gives where the kernel was told not to keep it.
var errNotSupported = syscall.EOPNOTSUPP

// sector is the unit of /proc/diskstats in bytes, whatever the device's own sectors are.
const sector = 512

func parseDiskstats(f FS, b []byte) (ds []Disk) {
	whole := blockDevices(f)
	lines(b, func(fs [][]byte) bool {
		if len(fs) < 14 {
			return true
		}
		var n [17]uint64 // the fields after the name
		some := uint64(0)
		for i := range min(len(n), len(fs)-3) {
			v, ok := number(fs[i+3])
			if !ok {
				return true
			}
			n[i] = v
			some |= v
		}
		if some == 0 { // loop and ram devices that nobody uses
			return true
		}
		name := string(fs[2])
		if !whole(name) {
			return true
		}
		d := Disk{
			Device: name, Reads: n[0], ReadBytes: n[2] * sector, ReadSec: float64(n[3]) / 1000,
			Writes: n[4], WriteBytes: n[6] * sector, WriteSec: float64(n[7]) / 1000,
			InFlight: n[8], BusySec: float64(n[9]) / 1000, WeightedSec: float64(n[10]) / 1000,
		}
		if len(fs) >= 18 {
			d.Discards, d.DiscardBytes = known.Of(n[11]), known.Of(n[13]*sector)
		}
		if len(fs) >= 20 {
			d.Flushes, d.FlushSec = known.Of(n[15]), known.Of(float64(n[16])/1000)
		}
		ds = append(ds, d)
		return true
	})
	return ds
}

// Place says where a path is stored.
type Place struct {
	Device     string // the whole block device, as in Disk.Device
	Partition  string // "" when the filesystem takes the whole device
	Filesystem string // "ext4", "xfs", …
	Mount      string
	FreeBytes  uint64 // for users other than root
	TotalBytes uint64
}

// ErrNoDevice says that a path is not on a block device of this machine: a network or memory filesystem.
var ErrNoDevice = errors.New("not on a block device")

// DiskOf says on which disk a file or folder is stored. The error wraps ErrNoDevice for filesystems in memory or on the
// network, the Place then still names the filesystem.
func DiskOf(path string) (Place, error) { return FS{}.DiskOf(path) }

// DiskOf is the function of that name, with devices looked up in f.
func (f FS) DiskOf(path string) (p Place, err error) {
	if !Here(f) {
		return diskThere(f, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return p, fmt.Errorf("find disk: %w", err)
	}
	maj, min, err := diskNumber(real)
	if err != nil {
		return p, fmt.Errorf("find disk of %s: %w", real, err)
	}
	p.FreeBytes, p.TotalBytes, _ = platform.Space(real)
	var source string
	if ms, err := mountsOf(f); err == nil {
		if m := mountOf(ms, real); m != nil {
			p.Filesystem, p.Mount, source = m.FSType, m.MountPoint, m.Source
		}
	}
	if maj == 0 && strings.HasPrefix(source, "/dev/") { // btrfs and the like answer with a number that is no device's
		if ma, mi, err := numberOf(source); err == nil {
			maj, min = ma, mi
		}
	}
	dir, err := filepath.EvalSymlinks(f.path("sys/dev/block", fmt.Sprintf("%d:%d", maj, min)))
	if err != nil {
		return p, fmt.Errorf("find disk of %s: %w (filesystem %s from %s)", real, ErrNoDevice, p.Filesystem, source)
	}
	p.Device = strings.ReplaceAll(filepath.Base(dir), "!", "/")
	if _, err := os.Stat(dir + "/partition"); err == nil {
		p.Partition, p.Device = p.Device, strings.ReplaceAll(filepath.Base(filepath.Dir(dir)), "!", "/")
	}
	return p, nil
}

// diskThere is DiskOf on another machine: the list of mounts has the device's number.
func diskThere(f FS, path string) (p Place, err error) {
	real, err := f.Files.Real(path)
	if err != nil {
		return p, fmt.Errorf("find disk: %w", err)
	}
	ms, err := mountsOf(f)
	if err != nil {
		return p, fmt.Errorf("find disk of %s: %w", real, err)
	}
	m := mountOf(ms, real)
	if m == nil {
		return p, fmt.Errorf("find disk of %s: %w", real, ErrNoDevice)
	}
	p.Filesystem, p.Mount = m.FSType, m.MountPoint
	p.TotalBytes, p.FreeBytes, _ = f.Files.Room(real)
	at := f.path("sys/dev/block", m.MajorMinorVer)
	if strings.HasPrefix(m.MajorMinorVer, "0:") && strings.HasPrefix(m.Source, "/dev/") { // as btrfs has it
		name := m.Source
		if to, err := f.Files.Real(m.Source); err == nil {
			name = to
		}
		at = f.path("sys/class/block", filepath.Base(name))
	}
	to, err := linkOf(f, at)
	if err != nil {
		return p, fmt.Errorf("find disk of %s: %w (filesystem %s from %s)", real, ErrNoDevice, m.FSType, m.Source)
	}
	p.Device = strings.ReplaceAll(filepath.Base(to), "!", "/")
	if _, partition := wordOf(f, at+"/partition"); partition {
		p.Partition, p.Device = p.Device, strings.ReplaceAll(filepath.Base(filepath.Dir(to)), "!", "/")
	}
	return p, nil
}

// mountOf returns the mount that a path without symlinks lies on: the longest mount point above it, and the last of
// those, which hides the ones before.
func mountOf(ms []*procfs.MountInfo, path string) (best *procfs.MountInfo) {
	for _, m := range ms {
		at := unescape(m.MountPoint)
		if at != "/" && path != at && !strings.HasPrefix(path, at+"/") {
			continue
		}
		if best == nil || len(at) >= len(unescape(best.MountPoint)) {
			best = m
		}
	}
	return best
}

// unescape undoes the kernel's way to write blanks in paths of mountinfo: \040.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
