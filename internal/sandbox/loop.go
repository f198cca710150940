package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/unit"
)

// image is a file with a filesystem of its own that holds a sandbox's data, and the server's temporary files beside
// them: what is measured or limited there is all that the server writes. The record knows it before anything of it is
// made. The loop device is not in it: it frees itself when its filesystem is unmounted, or when we are killed before
// that is mounted.
type image struct {
	Filesystem string `json:"filesystem"`
	Bytes      int64  `json:"bytes"`
	// it has directories data and tmp; images of old are the data directory alone
	Tmp bool `json:"tmp,omitempty"`
}

type filesystem struct {
	name, pkg string
	mkfs      [][]string // the first that works
	smallest  int64
}

// filesystems are those that data can be put on. All of mkfs's work is done at once: a filesystem that finishes itself
// in its first minutes writes into the measurement.
var filesystems = []filesystem{
	{"ext4", "e2fsprogs", [][]string{ // a new file reads as zeros; versions before 1.46.6 do not know how to be told
		{"mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0,assume_storage_prezeroed=1"},
		{"mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"},
	}, 256 << 20},
	{"xfs", "xfsprogs", [][]string{{"mkfs.xfs", "-q", "-f"}}, 512 << 20},
	{"btrfs", "btrfs-progs", [][]string{{"mkfs.btrfs", "-q", "-f"}}, 512 << 20},
}

const defaultImage = 4 << 30

func imageFile(dir string) string { return filepath.Join(dir, "data.img") }

// CheckFilesystem says whether the data of a new sandbox can be put on a filesystem of their own here, before anything
// is made.
func CheckFilesystem(name string, bytes int64) error {
	i := slices.IndexFunc(filesystems, func(f filesystem) bool { return f.name == name })
	if i < 0 {
		return hint(fmt.Errorf("%w: %q is unknown", ErrFilesystem, name), "choose ext4, xfs or btrfs, or leave it out")
	}
	f := filesystems[i]
	if bytes < f.smallest {
		return hint(fmt.Errorf("%w: %s is too small for %s with a server's data", ErrFilesystem,
			unit.Bytes(float64(bytes)), name),
			"give at least "+unit.Bytes(float64(f.smallest)))
	}
	if _, err := findTool(f.mkfs[0][0]); err != nil {
		return hint(fmt.Errorf("%w: %s is not installed", ErrFilesystem, f.mkfs[0][0]), "install the package "+f.pkg)
	}
	return mayLoop()
}

// mayLoop says whether we may attach a loop device and mount it.
func mayLoop() error {
	c, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err == nil {
		c.Close()
		if os.Geteuid() == 0 {
			return nil
		}
		err = syscall.EPERM
	}
	if errors.Is(err, os.ErrNotExist) {
		return hint(fmt.Errorf("%w: there are no loop devices here", ErrFilesystem),
			"load the module: modprobe loop; in a container, "+asRoot)
	}
	return hint(fmt.Errorf("%w: a loop device cannot be attached and mounted: %w", ErrFilesystem, err), asRoot)
}

const asRoot = "run dyno as root of the machine, or leave the filesystem out: the data then lie where the yard is"

// findTool finds a program of the administrator, whose directories are not on everybody's PATH.
func findTool(name string) (string, error) {
	p, err := exec.LookPath(name)
	if err == nil {
		return p, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if p := filepath.Join(dir, name); isExecutable(p) {
			return p, nil
		}
	}
	return "", err
}

func isExecutable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

// makeImage makes the image that a record names and mounts its directories, which are empty then:
// that of the data is ours until there are any, the other one the account's.
func makeImage(ctx context.Context, dir string, i image, a account, sink progress.Sink) error {
	p := progress.Progress{Step: "making a filesystem " + i.Filesystem, Started: time.Now(), At: time.Now()}
	sink.Report(p)
	if err := checkSpace(dir, i.Bytes); err != nil { // it grows to its size
		return err
	}
	f, err := os.OpenFile(imageFile(dir), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(i.Bytes), f.Close()); err != nil {
		return fmt.Errorf("make %s: %w", imageFile(dir), err)
	}
	if err := mkfs(ctx, i.Filesystem, imageFile(dir)); err != nil {
		return err
	}
	if err := mountImage(ctx, dir, i); err != nil {
		return err
	}
	p.At, p.End = time.Now(), true
	sink.Report(p)
	return a.give(filepath.Join(dir, "tmp"))
}

func mkfs(ctx context.Context, name, file string) error {
	for _, f := range filesystems {
		if f.name != name {
			continue
		}
		var last error
		for _, argv := range f.mkfs {
			tool, err := findTool(argv[0])
			if err != nil {
				return err
			}
			cmd := exec.CommandContext(ctx, tool, append(argv[1:], file)...)
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			out, err := cmd.CombinedOutput()
			if err == nil {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			last = fmt.Errorf("%w: %s: %w: %s", ErrFilesystem, argv[0], err,
				strings.Join(strings.Fields(string(out)), " "))
		}
		return last
	}
	return fmt.Errorf("%w: %q is unknown", ErrFilesystem, name)
}

func (r record) filesystem() string {
	if r.Image == nil {
		return ""
	}
	return r.Image.Filesystem
}

// mountData mounts the record's image again after the machine was started anew. A sandbox without one has its data
// there.
func (r record) mountData(ctx context.Context, dir string) error {
	if r.Image == nil {
		return nil
	}
	return mountImage(ctx, dir, *r.Image)
}

// onImage are the directories of an image, in the order in which they are mounted: where there are data all is there.
var onImage = []string{"tmp", "data"}

// wholeImage is where an image is mounted for a moment.
const wholeImage = "disk"

// mountImage mounts an image at the data directory, if it is not, and at that of temporary files.
func mountImage(ctx context.Context, dir string, i image) error {
	at := filepath.Join(dir, "data")
	if mounted, err := isMount(at); mounted || err != nil {
		return err
	}
	if err := mayLoop(); err != nil {
		return err
	}
	if i.Tmp {
		if err := unmountImage(ctx, dir); err != nil {
			// of somebody who was killed here: two devices on one file would spoil it
			return err
		}
		at = filepath.Join(dir, wholeImage)
	}
	if err := os.Mkdir(at, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	device, err := attach(imageFile(dir))
	if err != nil {
		err = fmt.Errorf("%w: attach %s to a loop device: %w", ErrFilesystem, imageFile(dir), err)
		if errors.Is(err, os.ErrPermission) { // root of a container
			err = hint(err, asRoot)
		}
		return err
	}
	defer device.Close() // from here on the mount alone keeps the device
	if err := mount(device.Name(), at, i.Filesystem); err != nil {
		err = fmt.Errorf("%w: mount %s: %w", ErrFilesystem, i.Filesystem, err)
		switch {
		case errors.Is(err, syscall.ENODEV):
			err = hint(err, "the kernel does not know "+i.Filesystem+": modprobe "+i.Filesystem)
		case errors.Is(err, os.ErrPermission):
			err = hint(err, asRoot)
		}
		return err
	}
	if !i.Tmp {
		return nil
	}
	for _, name := range onImage {
		from, to := filepath.Join(at, name), filepath.Join(dir, name)
		for _, d := range []string{from, to} {
			if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		}
		if err := bind(from, to); err != nil {
			return fmt.Errorf("%w: mount %s: %w", ErrFilesystem, to, err)
		}
	}
	if err := detach(at); err != nil { // also if somebody is looking around there
		return fmt.Errorf("unmount %s: %w", at, err)
	}
	return os.Remove(at)
}

// isMount reports whether something is mounted at a directory. One that does not exist is no mount.
func isMount(dir string) (bool, error) {
	at, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	above, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return false, err
	}
	here, _ := platform.FileOf(at)
	there, _ := platform.FileOf(above)
	return here.Device != there.Device, nil
}

// unmountImage unmounts what is mounted of a sandbox's image; its loop device frees itself.
func unmountImage(ctx context.Context, dir string) error {
	for _, name := range []string{"data", "tmp", wholeImage} {
		if err := unmount(ctx, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// unmount unmounts what is mounted at a directory.
func unmount(ctx context.Context, dir string) error {
	for end := time.Now().Add(10 * time.Second); ; {
		mounted, err := isMount(dir)
		if err != nil || !mounted {
			return err
		}
		if err = unmountOne(dir); err == nil {
			continue // there may be another one below it
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(end) {
			err = fmt.Errorf("unmount %s: %w", dir, err)
			switch {
			case errors.Is(err, syscall.EBUSY):
				err = hint(err, fmt.Sprintf("a process has files open there or its working directory: see "+
					"`fuser -vm %s`", dir))
			case errors.Is(err, syscall.EPERM):
				err = hint(err, "do it as root, who mounted it")
			}
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// filesystemNote returns what must be told about a mounted image, "" for nothing: without direct I/O its blocks are in
// the page cache twice and a read may not reach the disk.
func (r record) filesystemNote(dir string) string {
	if r.Image == nil {
		return ""
	}
	place, err := host.DiskOf(filepath.Join(dir, "data"))
	if err != nil {
		return ""
	}
	b, err := os.ReadFile("/sys/block/" + place.Device + "/loop/dio")
	if err == nil && strings.TrimSpace(string(b)) == "0" {
		return fmt.Sprintf("the loop device %s uses the page cache: the disk below does not support direct I/O",
			place.Device)
	}
	return ""
}
