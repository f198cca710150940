package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A template that is not whole is never used, whatever is missing of it.
func TestTemplateHalfMade(t *testing.T) {
	y := yard(t)
	up(t, y, Config{Name: "a", Server: "mariadb"})
	dirs, err := filepath.Glob(filepath.Join(templatesIn(y.Home), "mariadb-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	whole := func() bool { _, err := readTemplate(dirs[0]); return err == nil }
	data := filepath.Join(dirs[0], "data")
	i := 0
	f := func(what string, spoil func() error) {
		t.Helper()
		if !whole() {
			t.Fatal("the template is not whole")
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if whole() {
			t.Fatalf("%s: counts as whole", what)
		}
		i++
		s := up(t, y, Config{Name: "b" + strings.Repeat("x", i), Server: "mariadb"})
		if got := value(t, open(t, s), "SELECT COUNT(*) FROM mysql.db"); got == "" {
			t.Fatal(got)
		}
		if !whole() {
			t.Fatalf("%s: not made again", what)
		}
	}
	f("no list", func() error { return os.Remove(filepath.Join(dirs[0], templateList)) })
	f("a file missing", func() error { return os.Remove(filepath.Join(data, "ibdata1")) })
	f("a file cut", func() error { return os.Truncate(filepath.Join(data, "ibdata1"), 100) })
	f("an empty list", func() error { return os.WriteFile(filepath.Join(dirs[0], templateList), []byte("{}"), 0o644) })
	f("a list cut", func() error { return os.WriteFile(filepath.Join(dirs[0], templateList), []byte(`{"fil`), 0o644) })

	// Another page size cannot use the same one.
	s := up(t, y, Config{Name: "pages", Server: "mariadb", Settings: map[string]string{"innodb_page_size": "4k"}})
	if got := value(t, open(t, s), "SELECT @@innodb_page_size"); got != "4096" {
		t.Fatal(got)
	}
}
