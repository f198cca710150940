package digest

import (
	"slices"

	"dyno/internal/slowlog"
)

func (a *Aggregator) addSkip(s skip) {
	a.skips = append(a.skips, s)
	if len(a.skips) >= 2*MaxSkips {
		a.sortSkips()
	}
}

// sortSkips brings the skips into order and leaves the first MaxSkips.
func (a *Aggregator) sortSkips() {
	slices.SortFunc(a.skips, func(x, y skip) int {
		switch {
		case x.before(y.position):
			return -1
		case y.before(x.position):
			return 1
		}
		return 0
	})
	if len(a.skips) > MaxSkips {
		a.skips = a.skips[:MaxSkips]
	}
}

// reportSkips gives the skips of a report.
func (a *Aggregator) reportSkips(files []File) []slowlog.Skip {
	a.sortSkips()
	list := make([]slowlog.Skip, len(a.skips))
	for i, s := range a.skips {
		list[i] = slowlog.Skip{File: fileName(files, s.file), Offset: s.offset, Length: s.length, Reason: s.reason}
	}
	return list
}

func fileName(files []File, i int) string {
	if i < 0 || i >= len(files) {
		return ""
	}
	return files[i].Name
}
