package trials

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/trial"
)

// exported is an experiment of three trials with its result, as a bundle.
func exported(t testing.TB) ([]byte, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "x-1")
	d, err := Create(dir, header())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	for _, x := range []trial.Trial{full(1), small(2), small(3)} {
		if err := d.Put(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.PutResult(trial.Result{Format: 1, ID: "x-1", PlanText: header().Plan, Trials: []trial.Trial{
		full(1),
		small(2), small(3),
	}}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Export(d.Path(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), dir
}

// entry is one file of a tar.
type entry struct {
	name string
	body []byte
	kind byte
}

func open(t testing.TB, bundle []byte) []entry {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(bundle))
	if err != nil {
		t.Fatal(err)
	}
	var es []entry
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return es
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, entry{h.Name, b, h.Typeflag})
	}
}

func pack(t testing.TB, es []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for _, e := range es {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.body)), Typeflag: e.kind, ModTime: t0}
		if e.kind == tar.TypeSymlink || e.kind == tar.TypeLink {
			h.Linkname, h.Size, e.body = "/etc/passwd", 0, nil
		}
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sealed makes the manifest fit the files behind it.
func sealed(t testing.TB, es []entry, edit func(*manifest)) []entry {
	t.Helper()
	var m manifest
	if err := json.Unmarshal(es[0].body, &m); err != nil {
		t.Fatal(err)
	}
	m.Files = nil
	for _, e := range es[1:] {
		m.Files = append(m.Files, content{e.name, int64(len(e.body)), fmt.Sprintf("%x", sha256.Sum256(e.body))})
	}
	if edit != nil {
		edit(&m)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	es[0].body = b
	return es
}

func TestBundle(t *testing.T) {
	bundle, from := exported(t)
	var names []string
	for _, e := range open(t, bundle) {
		names = append(names, e.name)
		if e.name == planFile && string(e.body) != header().Plan {
			t.Errorf("plan: %q", e.body)
		}
	}
	if got, want := strings.Join(names, " "), "manifest.json experiment.json plan.yaml trials/00001.json "+
		"trials/00002.json trials/00003.json result.json"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	dir := filepath.Join(t.TempDir(), "there", "y")
	h, err := Import(bytes.NewReader(bundle), dir)
	if err != nil || h.ID != "x-1" || h.Plan != header().Plan {
		t.Fatalf("%+v, %v", h, err)
	}
	a, err := Read(from)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Read(dir)
	if err != nil || diff(a, b) != "" {
		t.Errorf("%v: %s", err, diff(a, b))
	}
	d, err := Open(dir) // and can be gone on with
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := Export(dir, &again); err != nil || !bytes.Equal(again.Bytes(), bundle) {
		t.Errorf("exported again it is different: %d bytes and %d, %v", again.Len(), len(bundle), err)
	}
	put(t, d, small(4))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".import-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	_, err = Import(bytes.NewReader(bundle), dir)
	says(t, err, ErrExists, "not empty")
	empty := t.TempDir()
	if _, err := Import(bytes.NewReader(bundle), empty); err != nil {
		t.Errorf("into an empty directory: %v", err)
	}
	if err := Export(t.TempDir(), io.Discard); err == nil {
		t.Error("exported nothing")
	}
}

// TestBundleWithoutResult exports an experiment that is under way and has a damaged trial.
func TestBundleWithoutResult(t *testing.T) {
	d := create(t)
	put(t, d, small(1))
	if err := os.WriteFile(d.file(1)[:len(d.file(1))-10]+"00002.json", []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Export(d.Path(), &b); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "y")
	if _, err := Import(&b, dir); err != nil {
		t.Fatal(err)
	}
	k, err := Read(dir)
	if err != nil || k.Result != nil || len(k.Trials) != 1 || len(k.Warnings) > 0 {
		t.Errorf("%+v, %v", k, err)
	}
}

func TestBadBundles(t *testing.T) {
	bundle, _ := exported(t)
	f := func(name string, b []byte, l limits, kind error, texts ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			t.Helper()
			parent := t.TempDir()
			_, err := unpack(bytes.NewReader(b), filepath.Join(parent, "y"), l)
			says(t, err, kind, texts...)
			if left, _ := os.ReadDir(parent); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	bad := func(name string, edit func([]entry) []entry, texts ...string) {
		t.Helper()
		f(name, pack(t, edit(open(t, bundle))), bounds(), ErrCorrupt, append(texts, "nothing was unpacked")...)
	}
	f("empty", nil, bounds(), ErrCorrupt, "not a bundle")
	f("no gzip", []byte("dyno_plan: 1"), bounds(), ErrCorrupt, "not a bundle")
	for _, n := range []int{len(bundle) - 1, len(bundle) - 9, len(bundle) / 2, 20} {
		f(fmt.Sprintf("cut at %d", n), bundle[:n], bounds(), ErrCorrupt)
	}
	flipped := slices.Clone(bundle)
	flipped[len(flipped)/2] ^= 1
	f("a bit flipped", flipped, bounds(), ErrCorrupt)
	l := bounds()
	l.total = 40_000
	f("too large", bundle, l, ErrCorrupt, "more than 40000 bytes")
	l = bounds()
	l.trial = 1000
	f("large trial", bundle, l, ErrCorrupt, "trials/00001.json", "at most 1000")
	l = bounds()
	l.entries = 5
	f("many files", bundle, l, ErrCorrupt, "6 files", "at most 5")
	l = bounds()
	l.manifest = 100_000
	f("bomb", pack(t, []entry{{manifestFile, make([]byte, 1<<20), tar.TypeReg}}), l, ErrCorrupt,
		manifestFile, "at most 100000")

	bad("no manifest", func(es []entry) []entry { return es[1:] }, "manifest.json", "experiment.json")
	bad("no header", func(es []entry) []entry { return sealed(t, slices.Delete(es, 1, 3), nil) },
		"does not name experiment.json")
	bad("file missing", func(es []entry) []entry { return es[:len(es)-1] }, "result.json", "missing")
	bad("file too many", func(es []entry) []entry { return append(es, entry{"trials/00009.json", nil, tar.TypeReg}) },
		"trials/00009.json", "does not name")
	bad("other order", func(es []entry) []entry { es[3], es[4] = es[4], es[3]; return es }, "in its place")
	bad("content", func(es []entry) []entry { es[4].body[20] ^= 1; return es }, "trials/00002.json", "checksum")
	bad("length", func(es []entry) []entry { es[4].body = append(es[4].body, ' '); return es },
		"trials/00002.json", "bytes")
	bad("torn trial", func(es []entry) []entry { es[4].body = []byte("{}"); return sealed(t, es, nil) },
		"trials/00002.json")
	bad("trial of another number", func(es []entry) []entry {
		es[4].name = "trials/00005.json"
		return sealed(t, es,
			nil)
	}, "holds trial 2")
	bad("other plan", func(es []entry) []entry { es[2].body = []byte("x"); return sealed(t, es, nil) },
		"plan.yaml", "experiment.json")
	bad("twice", func(es []entry) []entry { return sealed(t, append(es, es[4]), nil) }, "twice")
	bad("symbolic link", func(es []entry) []entry { es[4].kind = tar.TypeSymlink; return es },
		"trials/00002.json", "not a regular file")
	bad("hard link", func(es []entry) []entry { es[4].kind = tar.TypeLink; return es },
		"trials/00002.json", "not a regular file")
	for _, name := range []string{
		"../x.json", "/etc/passwd", "trials/../../x", "trials/x.json", "trials/00001.json/x",
		"lock", "", "trials", "a\x00b", "result.json\n",
	} {
		bad(fmt.Sprintf("name %q", name), func(es []entry) []entry {
			return sealed(t, es, func(m *manifest) { m.Files[3].Name = name })
		}, "not part of a bundle")
	}
	f("newer bundle", pack(t, sealed(t, open(t, bundle), func(m *manifest) { m.Format = 2 })), bounds(), ErrNewer,
		"the bundle has format 2", "newer Dyno")
	es := open(t, bundle)
	es[4].body = []byte(`{"dyno_trial": 3}`)
	f("newer trial", pack(t, sealed(t, es, nil)), bounds(), ErrNewer, "trials/00002.json", "the trial has format 3")
}

// FuzzImport feeds anything, as the bundle and as the tar within: no panic, no file outside, and what is taken can be
// read and exported again.
func FuzzImport(f *testing.F) {
	bundle, _ := exported(f)
	es := open(f, bundle)
	es = slices.Delete(es, 3, 4) // the large one
	es[len(es)-1].body = []byte(`{"dyno_result":1}`)
	small := pack(f, sealed(f, es, nil))
	raw, err := gzip.NewReader(bytes.NewReader(small))
	if err != nil {
		f.Fatal(err)
	}
	inner, err := io.ReadAll(raw)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small, false)
	f.Add(inner, true)
	f.Add(inner[:700], true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, b []byte, isTar bool) {
		if isTar {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			_, _ = w.Write(b)
			_ = w.Close()
			b = z.Bytes()
		}
		parent := t.TempDir()
		dir := filepath.Join(parent, "y")
		l := bounds()
		l.total = 1 << 20
		_, err := unpack(bytes.NewReader(b), dir, l)
		left, _ := os.ReadDir(parent)
		if err != nil {
			if len(left) > 0 {
				t.Errorf("%v, but left behind: %v", err, left)
			}
			return
		}
		if len(left) != 1 {
			t.Errorf("left: %v", left)
		}
		d, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		var again bytes.Buffer
		if err := Export(dir, &again); err != nil {
			t.Fatal(err)
		}
		if _, err := Import(&again, filepath.Join(parent, "z")); err != nil {
			t.Errorf("exported again it is refused: %v", err)
		}
	})
}
