package logdigest

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/digest"
)

// skips are the parts of logs that could not be read.
type skips struct {
	n     uint64
	bytes int64
	first []skip // the first MaxSkips and some more
}

type skip struct {
	position
	length int64
	reason string
}

// keep takes one into first.
func (s *skips) keep(x skip) {
	s.first = append(s.first, x)
	if len(s.first) >= 2*digest.MaxSkips {
		s.sort()
	}
}

// merge adds those of o.
func (s *skips) merge(o *skips) {
	s.n += o.n
	s.bytes += o.bytes
	for _, x := range o.first {
		s.keep(x)
	}
}

// sort brings first into order and leaves MaxSkips there.
func (s *skips) sort() {
	slices.SortFunc(s.first, func(x, y skip) int {
		switch {
		case x.before(y.position):
			return -1
		case y.before(x.position):
			return 1
		}
		return 0
	})
	if len(s.first) > digest.MaxSkips {
		s.first = s.first[:digest.MaxSkips]
	}
}

// report gives them as reports have them.
func (s *skips) report(files []digest.File) []digest.Skip {
	s.sort()
	list := make([]digest.Skip, len(s.first))
	for i, x := range s.first {
		list[i] = digest.Skip{File: fileName(files, x.file), Offset: x.offset, Length: x.length, Reason: x.reason}
	}
	return list
}

func fileName(files []digest.File, i int) string {
	if i < 0 || i >= len(files) {
		return ""
	}
	return files[i].Name
}
