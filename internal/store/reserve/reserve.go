// Package reserve computes how much space Dyno's stores leave free on a file system. They often
// share the file system with the watched server, which stops when its disk is full.
package reserve

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Reserve is what stays free. The zero value is the default: 5 % of the file system and 2 GiB at least, but of a small
// one, below 10 GiB, no more than 20 %.
type Reserve struct {
	Bytes   int64   // this much; 0: see Percent
	Percent float64 // of the file system; 0: see Bytes
}

// Parse reads a size such as 2G, or a part of the file system such as 5%. Nothing is 0.
func Parse(s string) (r Reserve, err error) {
	if p, ok := strings.CutSuffix(strings.TrimSpace(s), "%"); ok {
		r.Percent, err = strconv.ParseFloat(p, 64)
		if err != nil || r.Percent < 0 || r.Percent > 90 {
			return r, fmt.Errorf("parse reserve %q: write a size such as 2G, or a part of the file system from 0%% "+
				"to 90%%", s)
		}
	} else {
		n, err := unit.ParseSize(s)
		if err != nil {
			return r, err
		}
		r.Bytes = int64(min(n, 1<<60))
	}
	if r == (Reserve{}) {
		r.Bytes = 1 // asked for, and not the default
	}
	return r, nil
}

// Of returns the reserve of a file system of that size, bytes.
func (r Reserve) Of(total int64) int64 {
	switch {
	case r.Bytes > 0:
		return r.Bytes
	case r.Percent > 0:
		return int64(float64(total) * r.Percent / 100)
	}
	return max(total/20, min(2<<30, total/5))
}

// Room is the space of a file system, bytes.
type Room struct {
	Total, Free int64
	Need        int64 // with less free nothing is stored
}

// Room returns the space where dir is. What cannot be looked at is not ok.
func (r Reserve) Room(dir string) (Room, bool) {
	free, all, err := platform.Space(dir)
	if err != nil {
		return Room{}, false
	}
	bytes := func(n uint64) int64 { return int64(min(n, 1<<62)) }
	total := bytes(all)
	return Room{Total: total, Free: bytes(free), Need: r.Of(total)}, true
}

// Check returns an error that is syscall.ENOSPC when less than the reserve, and more bytes besides, is free where dir
// is. What cannot be looked at is no error: writing will tell.
func (r Reserve) Check(dir string, more int64) error {
	room, ok := r.Room(dir)
	total, left, need := room.Total, room.Free, room.Need
	if !ok || left >= need+more {
		return nil
	}
	return fmt.Errorf("%w: %s of %s are free, and with less than %s free Dyno stores nothing, to leave space to "+
		"other programs. Fix: free some space, "+
		"or leave them less with dyno serve --reserve=SIZE",
		syscall.ENOSPC, unit.Bytes(float64(left)), unit.Bytes(float64(total)), unit.Bytes(float64(need+more)))
}

// Share returns how much each of several may keep, which take ns, so that all together keep to a bound: what some do
// not need of their equal parts is shared by the rest. All fit with math.MaxInt64.
func Share(ns []int64, bound int64) int64 {
	ns = slices.Sorted(slices.Values(ns))
	for i, n := range ns {
		part := bound / int64(len(ns)-i)
		if n > part {
			return part
		}
		bound -= n
	}
	return math.MaxInt64
}
