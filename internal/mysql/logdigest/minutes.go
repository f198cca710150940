package logdigest

import (
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
)

// The most steps of a class's per-minute counts, and when there are manySummaries.
const (
	manySteps = 64
	fewSteps  = 16
)

const minute = int64(time.Minute / time.Microsecond)

// minutes counts statements by time in steps of 2^shift minutes since 1970, so that parts of a log agree on where steps
// begin.
type minutes struct {
	shift uint8
	start int64 // number of the first step
	steps []step
}

type step struct {
	n    uint64
	time uint64 // Query_time, nanoseconds
}

// add counts n statements at a time, microseconds since 1970, keeping to limit steps.
func (m *minutes) add(at int64, s step, limit int) {
	i := floor(at)
	if k := i>>m.shift - m.start; k >= 0 && k < int64(len(m.steps)) {
		m.steps[k].n += s.n
		m.steps[k].time += s.time
		return
	}
	m.extend(i, limit)
	k := i>>m.shift - m.start
	m.steps[k].n += s.n
	m.steps[k].time += s.time
}

func floor(at int64) int64 {
	i := at / minute
	if at < 0 && at%minute != 0 {
		i--
	}
	return i
}

// extend makes minute i have a step.
func (m *minutes) extend(i int64, limit int) {
	if len(m.steps) == 0 {
		m.start = i >> m.shift
		m.steps = append(m.steps, step{})
		return
	}
	for {
		first, last := m.start, m.start+int64(len(m.steps))-1
		k := i >> m.shift
		first, last = min(first, k), max(last, k)
		if last-first >= int64(limit) {
			m.coarsen()
			continue
		}
		if first < m.start {
			steps := make([]step, last-first+1)
			copy(steps[m.start-first:], m.steps)
			m.start, m.steps = first, steps
		}
		for m.start+int64(len(m.steps)) <= last {
			m.steps = append(m.steps, step{})
		}
		return
	}
}

// coarsen doubles the step.
func (m *minutes) coarsen() {
	start := m.start >> 1
	for j, s := range m.steps {
		k := (m.start+int64(j))>>1 - start
		if int64(j) != k {
			m.steps[j] = step{}
			m.steps[k].n += s.n
			m.steps[k].time += s.time
		}
	}
	last := (m.start+int64(len(m.steps))-1)>>1 - start
	m.steps = m.steps[:last+1]
	m.start = start
	m.shift++
}

// keep coarsens until there are no more than limit steps.
func (m *minutes) keep(limit int) {
	for len(m.steps) > limit {
		m.coarsen()
	}
}

func (m *minutes) merge(o *minutes, limit int) {
	if len(o.steps) == 0 {
		return
	}
	for m.shift < o.shift {
		if len(m.steps) == 0 {
			m.shift = o.shift
			break
		}
		m.coarsen()
	}
	for j, s := range o.steps {
		if s.n > 0 {
			m.add((o.start+int64(j))<<o.shift*minute, s, limit)
		}
	}
}

// report gives the value for a report; the zero one when nothing was counted or the log tells no times.
func (m *minutes) report() digest.Minutes {
	if len(m.steps) == 0 {
		return digest.Minutes{}
	}
	r := digest.Minutes{
		Start:    micro(m.start << m.shift * minute),
		StepSec:  float64(int64(60) << m.shift),
		Counts:   make([]uint64, len(m.steps)),
		QuerySec: make([]float64, len(m.steps)),
	}
	for i, s := range m.steps {
		r.Counts[i], r.QuerySec[i] = s.n, float64(s.time)/1e9
	}
	return r
}
