package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/target"
)

func TestCheckSettings(t *testing.T) {
	y := yard(t)
	for _, spec := range []string{"mariadb", "mysql"} {
		flavor, err := y.Resolve(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		f := func(set map[string]string, want ...string) {
			t.Helper()
			err := y.CheckSettings(t.Context(), flavor, set)
			if len(want) == 0 {
				if err != nil {
					t.Errorf("%s %v: %v", flavor.Spec(), set, err)
				}
				return
			}
			if !errors.Is(err, ErrSettings) {
				t.Errorf("%s %v: %v", flavor.Spec(), set, err)
				return
			}
			text := err.Error()
			var e *Error
			if errors.As(err, &e) {
				text += target.HintOf(err)
			}
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%s %v: %q lacks %q", flavor.Spec(), set, text, w)
				}
			}
		}
		f(nil)
		f(map[string]string{"innodb_buffer_pool_size": "64M", "max-connections": "20"})
		f(map[string]string{"innodb_bufer_pool_size": "64M"}, "innodb_bufer_pool_size", "innodb_buffer_pool_size?")
		f(map[string]string{"loose_no_such_thing": "1"})
		f(map[string]string{"quite_unheard_of": "1"}, "quite_unheard_of", "loose_")
		f(map[string]string{"datadir": "/tmp"}, "datadir")
	}
}
