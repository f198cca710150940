package load

import (
	"time"

	"dyno/internal/pace"
)

// moments is a heap of things that are due at some moment. It allocates only while it grows.
type moments[T any] struct{ list []moment[T] }

type moment[T any] struct {
	at   time.Duration
	what T
}

// next returns the earliest moment, pace.Never when there is none.
func (m *moments[T]) next() time.Duration {
	if len(m.list) == 0 {
		return pace.Never
	}
	return m.list[0].at
}

func (m *moments[T]) push(at time.Duration, what T) {
	m.list = append(m.list, moment[T]{at, what})
	h := m.list
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].at <= h[i].at {
			break
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

// pop takes out the earliest. There must be one.
func (m *moments[T]) pop() (at time.Duration, what T) {
	h := m.list
	at, what = h[0].at, h[0].what
	last := len(h) - 1
	h[0], h[last] = h[last], moment[T]{}
	h = h[:last]
	m.list = h
	for i := 0; ; {
		kid := 2*i + 1
		if kid >= len(h) {
			return at, what
		}
		if kid+1 < len(h) && h[kid+1].at < h[kid].at {
			kid++
		}
		if h[i].at <= h[kid].at {
			return at, what
		}
		h[i], h[kid] = h[kid], h[i]
		i = kid
	}
}
