//go:build samples

package digest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/peer"
)

// TestSamples holds logs of servers that this project cannot run against pt-query-digest: all files of the folder that
// DYNO_TEST_SAMPLES names.
func TestSamples(t *testing.T) {
	dir := os.Getenv("DYNO_TEST_SAMPLES")
	if dir == "" {
		t.Fatal("DYNO_TEST_SAMPLES names no folder of logs")
	}
	needProgram(t)
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples in %s: %v", dir, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			e := finish(t, command(t, "digest", "--output", "json", "--limit", "0", path))
			if e.code != 0 && e.code != 7 {
				t.Fatalf("code %d: %s", e.code, e.err)
			}
			r := decode(t, e.out)
			theirs, err := peer.PtDigest(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range peer.Compare(r, theirs, peer.Options{NoTimes: true}) {
				// old logs have local times, which Dyno makes UTC
				if strings.HasSuffix(read(t, path), ";\n") || !strings.Contains(d, "of Query_length is") {
					// the last line break is no part of a statement
					t.Error(d)
				}
			}
			for _, s := range r.Skipped {
				t.Logf("skipped %d bytes at %d: %s", s.Length, s.Offset, s.Reason)
			}
		})
	}
}
