package app

import "github.com/dyno-perf/dyno/internal/class"

// shows is a family that shortens the statements of its servers.
type shows interface {
	Shown(c class.Class) (item string, tables []string, ok bool)
}

// Names returns the short form of a class by which reports name it, and the tables in it as people write them, by the
// family of the servers that it was seen on.
func Names(c class.Class) (item string, tables []string) {
	for _, x := range families {
		if x, ok := x.(shows); ok {
			if item, tables, ok = x.Shown(c); ok {
				return item, tables
			}
		}
	}
	return c.Fingerprint, nil
}
