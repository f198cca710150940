package sandbox

import (
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

var specs = lazyregexp.New(`^([a-z]+)(?:@(\d+(?:\.\d+){0,2}))?$`)

// parseSpec splits "mysql@9.7" into flavor and version; the version may be empty.
func parseSpec(s string) (flavor dbms.Flavor, version string, ok bool) {
	m := specs.FindStringSubmatch(s)
	if m == nil {
		return "", "", false
	}
	flavor, ok = dbms.Named(m[1])
	if !ok {
		return "", "", false
	}
	return flavor, m[2], true
}

// matches reports whether version is want or one of its releases: 9.7.4 matches "", 9, 9.7 and 9.7.4.
func matches(version, want string) bool {
	v, w := maker.Numbers(version), maker.Numbers(want)
	if len(w) > len(v) {
		return false
	}
	for i := range w {
		if v[i] != w[i] {
			return false
		}
	}
	return true
}
