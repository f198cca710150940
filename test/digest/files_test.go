package digest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t *testing.T, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(z.EncodeAll([]byte(text), nil))
}

// bare returns the JSON of a report without what names its files, and without some more keys.
func bare(t *testing.T, out string, more ...string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v: %s", err, tail(out))
	}
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range append([]string{"file", "files", "offset"}, more...) {
				delete(v, key)
			}
			for _, x := range v {
				strip(x)
			}
		case []any:
			for _, x := range v {
				strip(x)
			}
		}
	}
	strip(v)
	return v
}

// TestSameHoweverItComes digests one log as a file, from stdin, compressed, under another name, in pieces of any order:
// the report is the same.
func TestSameHoweverItComes(t *testing.T) {
	needProgram(t)
	text := banner + steady(0, 5000)
	at := func(n int) int { return n + strings.Index(text[n:], "\n# Time:") + 1 }
	a, b := text[:at(len(text)/3)], text[at(len(text)/3):at(len(text)/2)]
	c := text[at(len(text)/2):]
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	json := []string{"--output", "json", "--limit", "0"}
	whole := dyno(t, 0, append(json, file("slow.log", text))...).out
	f := func(name, stdin string, paths ...string) {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, append(append([]string{"digest"}, json...), paths...)...)
			cmd.Stdin = strings.NewReader(stdin)
			e := finish(t, cmd)
			if e.code != 0 {
				t.Fatalf("code %d: %s", e.code, e.err)
			}
			var more []string
			if len(paths) > 1 {
				more = []string{"typical"} // one of those near the median, drawn by file and offset
			}
			if !reflect.DeepEqual(bare(t, e.out, more...), bare(t, whole, more...)) {
				t.Errorf("another report:\n%s", tail(e.out))
			}
		})
	}
	f("stdin", text, "-")
	f("gzip", "", file("slow.log.gz", gzipped(t, text)))
	f("gzip on stdin", gzipped(t, text), "-")
	f("gzip by another name", "", file("slow.txt", gzipped(t, text)))
	f("gzip of two members", "", file("two.gz", gzipped(t, a+b)+gzipped(t, c)))
	f("gzip cut in the middle of an entry", "", file("mid.gz", gzipped(t, text[:len(text)/2])+
		gzipped(t, text[len(text)/2:])))
	f("zstd", "", file("slow.log.zst", zstded(t, text)))
	f("zstd of two frames on stdin", zstded(t, a+b)+zstded(t, c), "-")
	f("rotated, in any order", "", file("r.log.1", b), file("r.log", c), file("r.log.2.gz", gzipped(t, a)))
	f("rotated, one from stdin", b, file("s.log", c), "-", file("s.log.2.zst", zstded(t, a)))
}
