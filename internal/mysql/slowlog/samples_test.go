//go:build samples

package slowlog

import (
	"os"
	"path/filepath"
	"testing"
)

// counts of the samples' statements; slow017's single one took 584 million years.
var samples = map[string]int{
	"slow002": 8, "slow005": 1, "slow008": 3, "slow011": 4, "slow014": 2, "slow017": 0, "slow020": 3, "slow023": 1,
	"slow026": 2, "slow029": 3,
	"slow032": 1, "slow035": 2, "slow038": 9, "slow043": 1, "slow046": 1, "slow049": 10, "slow052": 200, "slow055": 3,
	"slow058": 6, "slow061": 1,
}

// sampleFiles returns the logs of the folder that DYNO_TEST_SAMPLES names: percona-toolkit's samples, read where they
// lie.
func sampleFiles(t testing.TB) []string {
	dir := os.Getenv("DYNO_TEST_SAMPLES")
	if dir == "" {
		t.Fatal("DYNO_TEST_SAMPLES names no folder of sample logs")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples in %s: %v", dir, err)
	}
	return files
}

func TestSamples(t *testing.T) {
	for _, f := range sampleFiles(t) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		p := NewParser()
		p.Reset(b, 0, State{})
		n := 0
		for e := (Entry{}); p.Next(&e); n++ {
		}
		want, ok := samples[name[:len(name)-len(".txt")]]
		if !ok {
			continue
		}
		if n != want || len(p.Skipped()) != 0 && want != 0 {
			t.Errorf("%s: %d entries, %v", name, n, p.Skipped())
		}
	}
}
