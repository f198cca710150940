package series

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// Oldest returns from when on a directory has seconds, and minutes, without opening it: what its oldest block begins
// with. Before the first block, a few hours after it was made, both begin when it was made. Zero: that is not known.
func Oldest(dir string) (seconds, minutes time.Time) {
	var made time.Time
	if i, err := os.Stat(filepath.Join(dir, versionFile)); err == nil {
		made = i.ModTime()
	}
	begin := func(dir string) time.Time {
		metas, _ := filepath.Glob(filepath.Join(dir, "*", "meta.json")) // the pattern is well-formed
		oldest := made
		for i, m := range metas {
			var block struct {
				MinTime int64 `json:"minTime"`
			}
			b, err := os.ReadFile(m)
			if err != nil || json.Unmarshal(b, &block) != nil {
				continue // dropped meanwhile
			}
			if t := time.UnixMilli(block.MinTime); i == 0 || t.Before(oldest) {
				oldest = t
			}
		}
		return oldest
	}
	return begin(dir), begin(filepath.Join(dir, minutesDir))
}
