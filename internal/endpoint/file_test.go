package endpoint

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFilesThatAreNone: what a target may name is read as a file, and nothing that waits, or that has no end.
func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	pipe, large, fits, empty := filepath.Join(dir, "pipe"), filepath.Join(dir, "large"), filepath.Join(dir, "fits"),
		filepath.Join(dir, "empty")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{large: MaxFile + 1, fits: MaxFile, empty: 0} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		pipe: "not a regular file", "/dev/zero": "not a regular file", dir: "not a regular file", large: "larger than",
		fits: "", empty: "", dir + "/none": "no such file",
	} {
		b, st, err := ReadFile(name)
		if want == "" && (err != nil || int64(len(b)) != st.Size()) || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %d bytes, %v, want %q", name, len(b), err, want)
		}
		if want == "" {
			continue
		}
		for _, s := range []Spec{{CA: name}, {Cert: name, Key: fits}, {Cert: fits, Key: name}} {
			s.Network, s.Address, s.TLS = "tcp", "127.0.0.1:1", TLSRequired
			if _, _, err := s.TLSConfig(); KindOf(err) != BadTarget || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", s, err, want)
			}
		}
	}
}
