package remotewrite

import (
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Status is how a writer fares.
type Status struct {
	To       string    // host and path of the receiver
	Acked    time.Time // everything up to then has been acknowledged; zero until something was
	Samples  uint64    // that the receiver has acknowledged, repeated ones too
	Repeated uint64    // of these, sent although the receiver may have had them
	Refused  uint64    // given up, because the receiver will not take them
	Requests uint64
	Failures uint64    // requests that were tried again
	Bytes    uint64    // of requests, compressed
	Since    time.Time // sending has failed since then; zero when it works
	// why sending fails, why samples were refused last, or why the store or the cursor cannot be used
	Err error

	failing, refusing, readErr, cursorErr error

	told time.Time // when it was last logged that samples are refused
}

// Status returns how the writer fares now.
func (w *Writer) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	for _, err := range []error{s.failing, s.readErr, s.cursorErr, s.refusing} {
		if s.Err == nil {
			s.Err = err
		}
	}
	return s
}

// Samples returns the writer's own figures as of now, labelled with the receiver.
func (w *Writer) Samples(now time.Time) []metric.Sample {
	s := w.Status()
	ls := metric.L("to", s.To)
	var out []metric.Sample
	put := func(name string, kind metric.Kind, v float64) {
		out = append(out, metric.Sample{
			Name: "dyno_remote_write_" + name, Labels: ls, Kind: kind,
			At: now.UnixMilli(), Value: v,
		})
	}
	put("samples_total", metric.Counter, float64(s.Samples))
	put("repeated_samples_total", metric.Counter, float64(s.Repeated))
	put("refused_samples_total", metric.Counter, float64(s.Refused))
	put("requests_total", metric.Counter, float64(s.Requests))
	put("failed_requests_total", metric.Counter, float64(s.Failures))
	put("sent_bytes_total", metric.Counter, float64(s.Bytes))
	failing := 0.0
	if s.failing != nil {
		failing = 1
	}
	put("failing", metric.Gauge, failing)
	if !s.Acked.IsZero() {
		put("lag_seconds", metric.Gauge, max(0, now.Sub(s.Acked).Seconds()))
	}
	return out
}

func (w *Writer) note(f func(*Status)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.stats)
}

// delivered counts samples that the receiver has.
func (w *Writer) delivered(n int, repeated bool) {
	var since time.Time
	w.note(func(s *Status) {
		s.Samples += uint64(n)
		if repeated {
			s.Repeated += uint64(n)
		}
		since = s.Since
		s.failing, s.Since = nil, time.Time{}
	})
	if !since.IsZero() {
		w.o.Log.Info("remote write works again", "to", w.to, "failed_for", time.Since(since).Round(time.Second))
	}
}

// fail tells that a request failed, once until one succeeds.
func (w *Writer) fail(err error) {
	begins := false
	w.note(func(s *Status) {
		if begins = s.failing == nil; begins {
			s.Since = time.Now()
		}
		s.failing = err
	})
	if begins {
		w.o.Log.Warn("remote write fails and is tried again", "to", w.to, "err", err)
	}
}

// refusedEvery is how often it is logged at most that samples are refused.
const refusedEvery = time.Minute

// refuse gives samples up.
func (w *Writer) refuse(rows []row, n int, err error) {
	tell := false
	w.note(func(s *Status) {
		s.Refused += uint64(n)
		now := time.Now()
		tell = s.refusing == nil || now.Sub(s.told) >= refusedEvery // the receiver's text may be another each time
		if s.refusing = err; tell {
			s.told = now
		}
		s.failing, s.Since = nil, time.Time{}
	})
	if tell {
		w.o.Log.Warn("remote write: samples were refused and are given up", "to", w.to, "samples", n, "metric",
			nameOf(rows[0].series), "err", err)
	}
}

// read tells whether the store could be read.
func (w *Writer) read(err error) {
	begins := false
	w.note(func(s *Status) {
		begins = s.readErr == nil && err != nil
		s.readErr = err
	})
	if begins {
		w.o.Log.Warn("remote write cannot read the store and tries again", "to", w.to, "err", err)
	}
}
