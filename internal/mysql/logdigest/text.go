package logdigest

import (
	"crypto/md5"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

// tables gives what mytext.Tables finds as people write it.
func tables(sql []byte) []string {
	var names []string
	for _, t := range mytext.Tables(sql) {
		name := t[1]
		if t[0] != "" {
			name = t[0] + "." + name
		}
		names = append(names, name)
	}
	return names
}

// hashOf is class.ID before it is written in digits.
func hashOf(text []byte) [16]byte { return md5.Sum(text) }
