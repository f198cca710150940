package trials

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// BundleFormat is the version of the bundles that this program writes.
//
// A bundle is a gzipped tar of the files of an experiment, without directories: first manifest.json, then the files
// that it names, in that order. plan.yaml is the plan once more, for people.
const BundleFormat = 1

const (
	manifestFile = "manifest.json"
	planFile     = "plan.yaml"
)

// limits are what an import takes at most.
type limits struct {
	entries                        int
	total, manifest, trial, result int64 // bytes, unpacked
}

func bounds() limits {
	return limits{entries: 100_000, total: 1 << 30, manifest: 32 << 20, trial: 16 << 20, result: 256 << 20}
}

type manifest struct {
	Format int       `json:"dyno_bundle"`
	ID     string    `json:"id"`
	Dyno   string    `json:"dyno"` // that carried the experiment out
	Files  []content `json:"files"`
}

type content struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"sha256"`
}

var bundled = lazyregexp.New(`^(experiment\.json|plan\.yaml|result\.json|trials/[0-9]{5,6}\.json)$`)

// Export writes the experiment in dir as a bundle that another machine can unpack, carry out again or set beside its
// own: plan, trials with their seconds, histograms and environment, and the result if there is one. The same experiment
// gives the same bytes. Damaged trials are left out. It may be used while the experiment is under way.
func Export(dir string, w io.Writer) error {
	const op = "export experiment"
	h, err := readHeader(dir)
	if err != nil {
		return err
	}
	ts, _, err := readTrials(dir)
	if err != nil {
		return err
	}
	m := manifest{Format: BundleFormat, ID: h.ID, Dyno: h.Dyno}
	names := []string{headerFile, planFile}
	for _, t := range ts {
		names = append(names, fmt.Sprintf("%s/%05d.json", trialsDir, t.Seq))
	}
	if _, ok, err := readResult(dir); err != nil {
		return err
	} else if ok {
		names = append(names, resultFile)
	}
	open := func(name string) ([]byte, error) {
		if name == planFile {
			return []byte(h.Plan), nil
		}
		return os.ReadFile(filepath.Join(dir, name))
	}
	for _, name := range names {
		b, err := open(name)
		if err != nil {
			return failed(op, dir, err)
		}
		sum := sha256.Sum256(b)
		m.Files = append(m.Files, content{name, int64(len(b)), hex.EncodeToString(sum[:])})
	}
	head, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return failed(op, dir, err)
	}
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	put := func(name string, b []byte) error {
		if err := out.WriteHeader(&tar.Header{
			Name: name, Mode: 0o644, Size: int64(len(b)),
			ModTime: h.Started.Truncate(time.Second),
		}); err != nil {
			return err
		}
		_, err := out.Write(b)
		return err
	}
	if err := put(manifestFile, head); err != nil {
		return failed(op, dir, err)
	}
	for _, f := range m.Files {
		b, err := open(f.Name)
		if err == nil {
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != f.Sum {
				// the result may be written at this moment
				err = fmt.Errorf("%s changed meanwhile; try again", f.Name)
			} else {
				err = put(f.Name, b)
			}
		}
		if err != nil {
			return failed(op, dir, err)
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		return failed(op, dir, err)
	}
	return nil
}

// Import unpacks a bundle into dir, which must not exist or be empty. Everything is checked before the directory
// appears: names, sizes, checksums, formats. A bundle of a newer format is refused with ErrNewer, a damaged or foreign
// one with ErrCorrupt.
func Import(r io.Reader, dir string) (Header, error) {
	return unpack(r, dir, bounds())
}

func unpack(r io.Reader, dir string, l limits) (h Header, err error) {
	const op = "import bundle"
	wrap := func(err error) error { // of a bundle, not of a directory of ours
		err = failed(op, dir, err)
		if e := (*Error)(nil); errors.As(err, &e) {
			switch {
			case errors.Is(e.Kind, ErrCorrupt):
				e.Hint = "nothing was unpacked: have it sent again, or export it again at its source"
			case errors.Is(e.Kind, ErrNotFound):
				e.Kind = nil
			}
		}
		return err
	}
	dir = filepath.Clean(dir)
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return h, &Error{
			Op: op, Path: dir, Kind: ErrExists, Err: errors.New("the directory is not empty"),
			Hint: "choose another one",
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return h, wrap(err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".import-*")
	if err != nil {
		return h, wrap(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }() // after the renaming there is nothing to remove
	if err := os.Mkdir(filepath.Join(tmp, trialsDir), 0o700); err != nil {
		return h, wrap(err)
	}
	zip, err := gzip.NewReader(r)
	if err != nil {
		return h, wrap(&damage{fmt.Errorf("it is not a bundle: %w", err)})
	}
	if h, err = (&unpacking{limits: l, in: &io.LimitedReader{R: zip, N: l.total + 1}, dir: tmp}).all(); err != nil {
		return Header{}, wrap(err)
	}
	if err := errors.Join(syncDir(filepath.Join(tmp, trialsDir)), syncDir(tmp)); err != nil {
		return Header{}, wrap(err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty one; a full one is not removed
		return Header{}, wrap(err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return Header{}, wrap(err)
	}
	return h, wrap(syncDir(filepath.Dir(dir)))
}

// unpacking is a bundle being read.
type unpacking struct {
	limits
	in  *io.LimitedReader // the tar
	tar *tar.Reader
	dir string
}

func (u *unpacking) all() (h Header, err error) {
	u.tar = tar.NewReader(u.in)
	b, err := u.next(manifestFile, u.manifest)
	if err != nil {
		return h, err
	}
	if err := format(b, "dyno_bundle", "bundle", BundleFormat); err != nil {
		return h, at(manifestFile, err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return h, hurt(manifestFile, "%v", err)
	}
	if len(m.Files) > u.entries {
		return h, hurt(manifestFile, "it names %d files; at most %d are taken", len(m.Files), u.entries)
	}
	seen, plan := map[string]bool{}, ""
	for _, f := range m.Files {
		switch {
		case !bundled.MatchString(f.Name):
			return h, hurt(manifestFile, "it names %q, which is not part of a bundle", f.Name)
		case seen[f.Name]:
			return h, hurt(manifestFile, "it names %s twice", f.Name)
		}
		seen[f.Name] = true
		b, err := u.file(f)
		if err != nil {
			return h, err
		}
		switch f.Name {
		case headerFile:
			h, err = decodeHeader(b)
		case planFile:
			plan = string(b)
		case resultFile:
			_, err = decodeResult(b)
		default:
			_, err = decode(b, filepath.Base(f.Name))
		}
		if err != nil {
			return h, at(f.Name, err)
		}
		if f.Name == planFile {
			continue // the header has it
		}
		if err := writeNew(filepath.Join(u.dir, f.Name), b); err != nil {
			return h, err
		}
	}
	if !seen[headerFile] {
		return h, hurt(manifestFile, "it does not name %s", headerFile)
	}
	if seen[planFile] && plan != h.Plan {
		return h, hurt(planFile, "it is not the plan of %s", headerFile)
	}
	return h, u.end()
}

// file reads one file and checks it against the manifest.
func (u *unpacking) file(f content) ([]byte, error) {
	most := u.trial
	if f.Name == resultFile {
		most = u.result
	}
	b, err := u.next(f.Name, most)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) != f.Size {
		return nil, hurt(f.Name, "it has %d bytes, the manifest says %d", len(b), f.Size)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != f.Sum {
		return nil, hurt(f.Name, "its content does not match its checksum")
	}
	return b, nil
}

// next reads the next entry, which must be the file of that name.
func (u *unpacking) next(name string, most int64) ([]byte, error) {
	e, err := u.tar.Next()
	switch {
	case errors.Is(err, io.EOF) && u.in.N > 0:
		return nil, hurt(name, "it is missing: the bundle ends before it")
	case err != nil:
		return nil, u.broken(name, err)
	case e.Name != name:
		return nil, hurt(name, "%q is in its place", e.Name)
	case e.Typeflag != tar.TypeReg:
		return nil, hurt(name, "it is not a regular file")
	case e.Size > most:
		return nil, hurt(name, "it has %d bytes; at most %d are taken", e.Size, most)
	}
	b, err := io.ReadAll(io.LimitReader(u.tar, most+1)) // grows with what is there, not with what was promised
	if err != nil {
		return nil, u.broken(name, err)
	}
	return b, nil
}

// end reads to the end, where gzip keeps its checksum.
func (u *unpacking) end() error {
	e, err := u.tar.Next()
	if err == nil {
		return hurt(e.Name, "the manifest does not name it")
	}
	if !errors.Is(err, io.EOF) {
		return u.broken("its end", err)
	}
	if _, err := io.Copy(io.Discard, u.in); err != nil {
		return u.broken("its end", err)
	}
	if u.in.N <= 0 {
		return u.broken("its end", io.EOF)
	}
	return nil
}

// broken explains why nothing can be read on.
func (u *unpacking) broken(where string, err error) error {
	if u.in.N <= 0 {
		return hurt(where, "the bundle unpacks to more than %d bytes", u.total)
	}
	return hurt(where, "%v", err)
}

func hurt(where, format string, args ...any) error {
	return &damage{fmt.Errorf("%s: "+format, append([]any{where}, args...)...)}
}

func at(where string, err error) error { return fmt.Errorf("%s: %w", where, err) }
