package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/progress"
)

// template is a data directory just initialised, with the list of what is in it. The list is written last, and a
// template without it, or with files other than it says, is never used.
type template struct {
	Files map[string]int64 `json:"files"` // path below data/ → size in bytes
	Bytes int64            `json:"bytes"` // on disk
	dir   string
}

const templateList = "template.json"

func (t template) data() string { return filepath.Join(t.dir, "data") }

// withTemplate calls use with the template of a build with initial options, made if there is none. The lock of all
// templates is held meanwhile: of two programs one makes it and the other waits, and nobody removes what is being
// copied.
func withTemplate(ctx context.Context, home string, s Server, initial []string, a account, sink progress.Sink,
	use func(template) error,
) error {
	if err := makeAll(templatesIn(home), makeLocked); err != nil {
		return err
	}
	unlock, err := flock(ctx, templatesIn(home))
	if err != nil {
		return err
	}
	defer unlock()
	t, err := makeTemplate(ctx, home, s, initial, a, sink)
	if err != nil {
		return err
	}
	return use(t)
}

func makeTemplate(
	ctx context.Context, home string, s Server, initial []string, a account, sink progress.Sink,
) (template, error) {
	key, err := templateKey(s, initial)
	if err != nil {
		return template{}, err
	}
	dir := filepath.Join(templatesIn(home), key)
	if t, err := readTemplate(dir); err == nil {
		return t, nil
	}
	making := filepath.Join(templatesIn(home), ".making")
	if err := inline([]error{os.RemoveAll(dir), os.RemoveAll(making)}); err != nil { // half-made ones
		return template{}, err
	}
	if err := checkSpace(templatesIn(home), 256<<20); err != nil {
		return template{}, err
	}
	defer os.RemoveAll(making)
	if err := initialise(ctx, s, initial, a, making, sink); err != nil {
		return template{}, err
	}
	if err := sealTemplate(making, s); err != nil {
		return template{}, err
	}
	if err := os.Rename(making, dir); err != nil {
		return template{}, err
	}
	return readTemplate(dir)
}

// templateKey names the template of a build: another program file or other initial options have another one.
func templateKey(s Server, initial []string) (string, error) {
	fi, err := os.Stat(s.Path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%d\n%q\n", s.Path, fi.Size(), fi.ModTime().UnixNano(), initial)
	for _, line := range s.Maker.Variant(s) {
		fmt.Fprintln(h, line)
	}
	return string(s.Flavor) + "-" + s.Version + "-" + hex.EncodeToString(h.Sum(nil)[:6]), nil
}

// initialise makes a data directory in dir/data.
func initialise(ctx context.Context, s Server, initial []string, a account, dir string, sink progress.Sink) error {
	p := progress.Progress{Step: "initialising " + string(s.Flavor) + " " + s.Version, Started: time.Now()}
	if err := makeDir(dir); err != nil {
		return err
	}
	for _, d := range []string{"data", "tmp"} {
		if err := makePrivate(filepath.Join(dir, d), a); err != nil {
			return err
		}
	}
	var out string
	done := make(chan error, 1)
	go func() {
		var err error
		out, err = makeData(ctx, s, initial, a, dir)
		done <- err
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		p.At = time.Now()
		sink.Report(p)
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("%w: %w: %s", ErrInitialise, err, s.Maker.Traits().Log.Complaint(out))
			}
			p.At, p.End = time.Now(), true
			sink.Report(p)
			return nil
		case <-tick.C:
		}
	}
}

// makeData runs what makes a data directory as an account. Where that must have an entry in /etc/passwd and the
// servers' account has none it is nobody with that account's group, in a directory that only this group may enter: what
// else runs as nobody reaches neither the files nor the process.
func makeData(
	ctx context.Context, s Server, initial []string, a account, dir string,
) (said string, err error) {
	how, err := s.Maker.Initialise(s, initial, dir)
	if err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	if _, err := user.LookupId(strconv.Itoa(a.id())); err != nil && a.name != "" && how.Named {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			return "", hint(fmt.Errorf("%w: its programs need a user with an entry in /etc/passwd", ErrAccount),
				"make one: useradd --system --shell /usr/sbin/nologin "+accountName)
		}
		uid, err := strconv.Atoi(nobody.Uid)
		if err != nil {
			return "", err
		}
		a = account{nobody.Username, uid, a.gid}
		if err := inline([]error{os.Chmod(dir, 0o710), os.Lchown(dir, 0, a.gid), a.give(data)}); err != nil {
			return "", err
		}
	}
	for _, step := range how.Steps {
		if said, err = a.run(ctx, step.Argv, data, dir, step.Stdin); err != nil {
			break
		}
	}
	return said, err
}

// sealTemplate makes the data directory of a build ours, complete and durable, and writes the list.
func sealTemplate(dir string, s Server) error {
	t := template{Files: map[string]int64{}}
	data := filepath.Join(dir, "data")
	if err := takeOver(data); err != nil {
		return err
	}
	if err := s.Maker.Finish(s, data); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, "tmp")); err != nil {
		return err
	}
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return err
		}
		fi, err := f.Stat()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(data, path)
		if err != nil {
			return err
		}
		t.Files[rel] = fi.Size()
		t.Bytes += onDisk(fi)
		return nil
	})
	if err != nil {
		return err
	}
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(dir, templateList), b)
}

func onDisk(fi fs.FileInfo) int64 {
	if f, ok := platform.FileOf(fi); ok {
		return f.Bytes
	}
	return fi.Size()
}

// readTemplate returns a template when it is whole.
func readTemplate(dir string) (template, error) {
	b, err := os.ReadFile(filepath.Join(dir, templateList))
	if err != nil {
		return template{}, err
	}
	t := template{dir: dir}
	if err := json.Unmarshal(b, &t); err != nil {
		return template{}, err
	}
	if len(t.Files) == 0 {
		return template{}, errors.New("an empty template")
	}
	for name, size := range t.Files {
		fi, err := os.Lstat(filepath.Join(t.data(), name))
		if err != nil {
			return template{}, err
		}
		if fi.Size() != size || !fi.Mode().IsRegular() || ownerID(fi) != os.Geteuid() {
			return template{}, fmt.Errorf("%s has %d bytes, not %d, or is not ours", name, fi.Size(), size)
		}
	}
	return t, nil
}
