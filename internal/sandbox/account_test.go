package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCanReach(t *testing.T) {
	top, err := os.MkdirTemp("", "dyno-yard-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	deep := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	stranger := account{"stranger", 12345, 12345}
	f := func(top_, a os.FileMode, who account, bar string) {
		t.Helper()
		if err := errors.Join(os.Chmod(top, top_), os.Chmod(filepath.Dir(deep), a)); err != nil {
			t.Fatal(err)
		}
		err := who.canReach(deep, "go elsewhere")
		if bar == "" && err != nil || bar != "" && (!errors.Is(err, ErrAccount) ||
			!strings.Contains(err.Error(), " "+bar+" ")) {
			t.Errorf("%o %o: %v", top_, a, err)
		}
	}
	f(0o755, 0o755, stranger, "")
	f(0o711, 0o711, stranger, "")
	f(0o700, 0o755, stranger, top)
	f(0o755, 0o750, stranger, filepath.Dir(deep))
	f(0o700, 0o700, account{}, "") // ourselves
	f(0o700, 0o700, account{"me", os.Getuid(), os.Getgid()}, "")
}
