package advise

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/sources"
)

// TestStatusNames: a rule that asks for a status variable under a name that no series has would never fire.
func TestStatusNames(t *testing.T) {
	call := regexp.MustCompile(`\.(?:Status|Gauge)\("([^"]*)"\)`)
	asked := 0
	err := fs.WalkDir(os.DirFS(".."), "advise", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		b, err := os.ReadFile(filepath.Join("..", path))
		for _, m := range call.FindAllSubmatch(b, -1) {
			asked++
			name := strings.ToLower(string(m[1]))
			if s := sources.StatusSeries(name); s.Name != "mysql_global_status_"+name || len(s.Labels) > 0 {
				t.Errorf("%s: %s is %s%v", path, m[1], s.Name, s.Labels)
			}
		}
		return err
	})
	if err != nil || asked < 30 {
		t.Errorf("%d names, %v", asked, err)
	}
	x := Dialect().Figures
	for _, name := range slices.Concat(x.Deadlocks[:1], []string{
		x.RowsSent, x.Connected, x.RowLocks.Waits.Metric, x.RowLocks.Millis.Metric, x.RowLocks.Current.Metric,
	}) {
		if s := sources.StatusSeries(strings.TrimPrefix(name, x.Status)); s.Name != name || len(s.Labels) > 0 {
			t.Errorf("%s is %s%v", name, s.Name, s.Labels)
		}
	}
}
