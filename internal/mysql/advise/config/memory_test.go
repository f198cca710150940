package config

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/snap"
)

// TestMemoryRulesOnSnapshots asks every rule about every planted fault that was kept: it finds its own, and nothing on
// those of others.
func TestMemoryRulesOnSnapshots(t *testing.T) {
	belongs := map[string][]string{"io-limit": {"small-buffer-pool"}} // pages that a larger pool would hold
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "advise", "testdata", "faults", "*.json.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no snapshots: %v", err)
	}
	rules := map[string]advise.Rule{}
	for _, r := range memoryRules() {
		rules[r.Name] = r
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			s, err := snapshot.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			fault, _, _ := strings.Cut(filepath.Base(name), ".")
			var got []string
			for _, r := range memoryRules() {
				for _, x := range r.Find(snap.View(s, nil)) {
					if x.Severity != finding.Fact {
						got = append(got, x.Rule)
					}
				}
			}
			if _, own := rules[fault]; own && !slices.Contains(got, fault) {
				t.Errorf("not found; found %v", got)
			}
			for _, g := range got {
				if g != fault && !slices.Contains(belongs[fault], g) {
					t.Errorf("%s is found here", g)
				}
			}
		})
	}
}
