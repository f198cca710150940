package remotewrite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/store/series"
)

// script is a receiver that answers as it is told, and keeps what it has acknowledged.
type script struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(n int, w http.ResponseWriter, req prompb.WriteRequest) bool // whether it stores; n counts requests
	n      int
	heads  []http.Header
	got    []string // "name{labels} at value"
	kinds  map[string]prompb.MetricMetadata_MetricType
}

func newScript(t *testing.T, answer func(n int, w http.ResponseWriter, req prompb.WriteRequest) bool) *script {
	s := &script{answer: answer, kinds: map[string]prompb.MetricMetadata_MetricType{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			body, err = snappy.Decode(nil, body)
		}
		var req prompb.WriteRequest
		if err == nil {
			err = req.Unmarshal(body)
		}
		if err != nil {
			t.Errorf("the message cannot be read: %v", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heads = append(s.heads, r.Header.Clone())
		s.n++
		if s.answer != nil && !s.answer(s.n, w, req) {
			return
		}
		for _, m := range req.Metadata {
			s.kinds[m.MetricFamilyName] = m.Type
		}
		for _, x := range req.Timeseries {
			var b strings.Builder
			for i, l := range x.Labels {
				if i > 0 && x.Labels[i-1].Name >= l.Name {
					t.Errorf("labels are out of order: %v", x.Labels)
				}
				fmt.Fprintf(&b, "%s=%s ", l.Name, l.Value)
			}
			for _, p := range x.Samples {
				s.got = append(s.got, fmt.Sprintf("%s%d %v", b.String(), p.Timestamp%1e6, p.Value))
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *script) have() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.got))
}

// base is the time of the first sample of these tests: not long ago, and round.
func base() int64 { return time.Now().Add(-time.Minute).UnixMilli() / 1e6 * 1e6 }

func open(t *testing.T) *series.Store {
	t.Helper()
	s, err := series.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t *testing.T, s *series.Store, at int64, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := s.Append([]metric.Sample{{Name: n, Labels: metric.L("l", "x"), At: at, Value: float64(at % 1000)}},
			metric.L("target", "t")); err != nil {
			t.Fatal(err)
		}
	}
}

func options(t *testing.T, url string) Options {
	return Options{
		URL: url, Cursor: filepath.Join(t.TempDir(), "cursor"), Backfill: true, Settle: time.Millisecond,
		Every: 10 * time.Millisecond, Batch: 4,
	}
}

// until runs a writer until something holds.
func until(t *testing.T, o Options, src Source, ok func(Status) bool) Status {
	t.Helper()
	w, err := New(o, src)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ends with %v", err)
		}
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if s := w.Status(); ok(s) {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("it does not come to it: %+v", w.Status())
		}
	}
}

// caughtUp holds when all was sent that was stored before the call.
func caughtUp() func(Status) bool {
	now := time.Now()
	return func(s Status) bool { return !s.Acked.Before(now) }
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMessage(t *testing.T) {
	st := open(t)
	b := base()
	for i, v := range []float64{1, math.NaN(), math.Inf(-1)} {
		if err := st.Append([]metric.Sample{
			{Name: "a", Labels: metric.L("z", "1", "b", "\xff"), Kind: metric.Counter, At: b + int64(i)*1000, Value: v},
			{Name: "g", At: b + int64(i)*1000, Value: float64(i)},
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	r := newScript(t, nil)
	o := options(t, r.URL)
	o.Labels = metric.L("site", "here", "z", "not this one")
	o.Rename = func(s metric.Sample) metric.Sample {
		if s.Name == "g" {
			s.Name = "renamed"
		}
		return s
	}
	s := until(t, o, st, caughtUp())
	want(t, r.have(),
		"__name__=a b=\uFFFD site=here z=1 0 1", "__name__=a b=\uFFFD site=here z=1 1000 NaN",
		"__name__=a b=\uFFFD site=here z=1 2000 -Inf",
		"__name__=renamed site=here z=not this one 0 0", "__name__=renamed site=here z=not this one 1000 1",
		"__name__=renamed site=here z=not this one 2000 2")
	if s.Samples != 6 || s.Repeated != 0 || s.Refused != 0 || s.Err != nil {
		t.Errorf("%+v", s)
	}
	if r.kinds["a"] != prompb.MetricMetadata_COUNTER || r.kinds["renamed"] != prompb.MetricMetadata_GAUGE {
		t.Errorf("%v", r.kinds)
	}
	h := r.heads[0]
	for k, v := range map[string]string{
		"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf",
		"X-Prometheus-Remote-Write-Version": "0.1.0",
	} {
		if h.Get(k) != v {
			t.Errorf("%s: %q", k, h.Get(k))
		}
	}
}

// TestAgain: whatever goes wrong for a while, all arrives, and what the receiver has for sure is not sent again.
func TestAgain(t *testing.T) {
	f := func(name string, answer func(n int, w http.ResponseWriter, req prompb.WriteRequest) bool,
		repeated, failures uint64,
	) {
		t.Run(name, func(t *testing.T) {
			st := open(t)
			b := base()
			var all []string
			for _, n := range []string{"a", "b", "c"} {
				for at := b; at < b+3000; at += 1000 {
					put(t, st, at, n)
					all = append(all, fmt.Sprintf("__name__=%s l=x target=t %d %d", n, at%1e6, at%1000))
				}
			}
			r := newScript(t, answer)
			s := until(t, options(t, r.URL), st, caughtUp())
			if repeated == 0 {
				want(t, r.have(), all...)
			} else {
				want(t, slices.Compact(r.have()), all...)
			}
			if s.Samples != 9 || s.Repeated != repeated || s.Refused != 0 || s.Failures < failures ||
				s.Failures > failures+1 || s.failing != nil {
				t.Errorf("%+v", s)
			}
		})
	}
	status := func(code, times int) func(int, http.ResponseWriter, prompb.WriteRequest) bool {
		return func(n int, w http.ResponseWriter, _ prompb.WriteRequest) bool {
			if n > times {
				return true
			}
			w.Header().Set("Retry-After", "0")
			http.Error(w, "no", code)
			return false
		}
	}
	f("500", status(500, 2), 0, 2)
	f("429", status(429, 1), 0, 1)
	f("401", status(401, 1), 0, 1)
	f("404", status(404, 1), 0, 1)
	f("301", status(301, 1), 0, 1)
	f("413 for more than two", func(_ int, w http.ResponseWriter, req prompb.WriteRequest) bool {
		n := 0
		for _, x := range req.Timeseries {
			n += len(x.Samples)
		}
		if n > 2 {
			http.Error(w, "too much", http.StatusRequestEntityTooLarge)
		}
		return n <= 2
	}, 0, 0)
	f("hangs up before it stores", func(n int, _ http.ResponseWriter, _ prompb.WriteRequest) bool {
		if n == 1 {
			panic(http.ErrAbortHandler)
		}
		return true
	}, 3, 1)
	var stored bool
	f("hangs up after it stores", func(n int, w http.ResponseWriter, req prompb.WriteRequest) bool {
		// As Prometheus, it takes a request whole or not at all.
		switch {
		case n == 1:
			stored = true
			w.WriteHeader(502)
			return true
		case stored && req.Timeseries[0].Labels[0].Value == "a" && req.Timeseries[0].Samples[0].Timestamp%1e4 < 2000:
			http.Error(w, "out of order sample", 400)
			return false
		}
		return true
	}, 3, 1)
}

// TestRefused: only what the receiver will not take is given up, and told.
func TestRefused(t *testing.T) {
	st := open(t)
	b := base()
	var good []string
	for i := range 20 {
		name := fmt.Sprintf("s%02d", i)
		for at := b; at < b+2000; at += 1000 {
			put(t, st, at, name)
			if i != 7 && !(i == 11 && at == b) {
				good = append(good, fmt.Sprintf("__name__=%s l=x target=t %d %d", name, at%1e6, at%1000))
			}
		}
	}
	r := newScript(t, func(_ int, w http.ResponseWriter, req prompb.WriteRequest) bool {
		for _, x := range req.Timeseries {
			if x.Labels[0].Value == "s07" || x.Labels[0].Value == "s11" && x.Samples[0].Timestamp == b {
				http.Error(w, "label value is  not to my\x1b[31m taste", 400)
				return false
			}
		}
		return true
	})
	o := options(t, r.URL)
	o.Batch = 1000
	s := until(t, o, st, caughtUp())
	want(t, r.have(), good...)
	if s.Samples != 37 || s.Refused != 3 || s.Err == nil ||
		!strings.Contains(s.Err.Error(), "400 Bad Request: label value is not to my [31m taste") {
		t.Errorf("%+v", s)
	}
}

// TestRefusedAll: a receiver that takes nothing is not asked sample by sample.
func TestRefusedAll(t *testing.T) {
	st := open(t)
	b := base()
	for i := range 400 {
		put(t, st, b, fmt.Sprint("s", i))
	}
	r := newScript(t, func(_ int, w http.ResponseWriter, _ prompb.WriteRequest) bool {
		http.Error(w, "no", 400)
		return false
	})
	o := options(t, r.URL)
	o.Batch = 1000
	s := until(t, o, st, caughtUp())
	if s.Samples != 0 || s.Refused != 400 || s.Requests > 150 {
		t.Errorf("%+v", s)
	}
}

// TestLate: a sample that reaches the store after its time was sent is sent too, and once.
func TestLate(t *testing.T) {
	st := open(t)
	r := newScript(t, nil)
	o := options(t, r.URL)
	w, err := New(o, st)
	if err != nil {
		t.Fatal(err)
	}
	b := base()
	put(t, st, b, "a")
	for range 3 {
		for {
			if up, err := w.forward(t.Context()); err != nil {
				t.Fatal(err)
			} else if up {
				break
			}
		}
		if err := w.late(t.Context()); err != nil {
			t.Fatal(err)
		}
		put(t, st, time.Now().Add(-time.Second).UnixMilli()/1000*1000, "late")
	}
	got := r.have()
	if len(got) < 2 || len(slices.Compact(slices.Clone(got))) != len(got) ||
		!strings.HasPrefix(got[len(got)-1], "__name__=late ") {
		t.Errorf("%v", got)
	}
}

// TestCursorLost: with no cursor, what was stored before is not sent unless that is asked for.
func TestFromNow(t *testing.T) {
	st := open(t)
	put(t, st, base(), "old")
	r := newScript(t, nil)
	o := options(t, r.URL)
	o.Backfill = false
	until(t, o, st, caughtUp())
	put(t, st, time.Now().UnixMilli(), "new")
	until(t, o, st, caughtUp()) // where the first has left off
	if got := r.have(); len(got) != 1 || !strings.HasPrefix(got[0], "__name__=new ") {
		t.Errorf("%v", got)
	}
}

// TestResume: a writer that was killed between two requests of a stretch goes on behind the first.
func TestResume(t *testing.T) {
	st := open(t)
	b := base()
	put(t, st, b, "a", "b", "c", "d")
	r := newScript(t, nil)
	o := options(t, r.URL)
	o.Batch = 1
	w, err := New(o, st)
	if err != nil {
		t.Fatal(err)
	}
	w.cur = cursor{
		To: w.to, Acked: b - 1, Window: b + 1,
		Done: w.o.makeRow(metric.Series{Name: "b", Labels: metric.L("l", "x", "target", "t")}).key,
	}
	w.save()
	s := until(t, o, st, caughtUp())
	want(t, r.have(), fmt.Sprintf("__name__=c l=x target=t %d 0", b%1e6),
		fmt.Sprintf("__name__=d l=x target=t %d 0", b%1e6))
	if s.Samples != 2 || s.Repeated != 1 { // the one that may have been under way
		t.Errorf("%+v", s)
	}
}

func TestReplay(t *testing.T) {
	st := open(t)
	b := base()
	put(t, st, b, "a")
	put(t, st, b+20_000, "a")
	r := newScript(t, nil)
	o := options(t, r.URL)
	until(t, o, st, caughtUp())
	o.Replay = time.Duration(time.Now().UnixMilli()-b-10_000) * time.Millisecond
	s := until(t, o, st, caughtUp())
	if s.Samples != 1 || s.Repeated != 1 || len(r.have()) != 3 {
		t.Errorf("%+v %v", s, r.have())
	}
}

func TestSamples(t *testing.T) {
	st := open(t)
	put(t, st, base(), "a", "b")
	r := newScript(t, nil)
	o := options(t, r.URL)
	w, err := New(o, st)
	if err != nil {
		t.Fatal(err)
	}
	for up := false; !up; {
		if up, err = w.forward(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]float64{}
	for _, s := range w.Samples(time.Now().Add(time.Hour)) {
		if s.Labels.Get("to") != w.to {
			t.Errorf("%+v", s)
		}
		got[strings.TrimPrefix(s.Name, "dyno_remote_write_")] = s.Value
	}
	if got["samples_total"] != 2 || got["requests_total"] != 1 || got["failing"] != 0 || got["sent_bytes_total"] < 20 ||
		got["lag_seconds"] < 3500 {
		t.Errorf("%v", got)
	}
}

// TestUnreadable: a store that cannot be read, and a cursor that cannot be written, are told and do not end the writer.
func TestUnreadable(t *testing.T) {
	r := newScript(t, nil)
	until(t, options(t, r.URL), broken{}, func(s Status) bool {
		return s.Err != nil &&
			s.Err.Error() == "the disk is gone"
	})

	st := open(t)
	put(t, st, base(), "a")
	o := options(t, r.URL)
	o.Cursor = filepath.Join(t.TempDir(), "nowhere", "cursor")
	s := until(t, o, st, caughtUp())
	if s.Samples != 1 || !errors.Is(s.Err, os.ErrNotExist) {
		t.Errorf("%+v", s)
	}
}

type broken struct{}

func (broken) Each(context.Context, int64, int64, func(metric.Series) error) error {
	return errors.New("the disk is gone")
}

// TestRate: catching up keeps to the rate that was set.
func TestRate(t *testing.T) {
	st := open(t)
	b := base()
	for i := range 40 {
		put(t, st, b+int64(i), "a")
	}
	r := newScript(t, nil)
	o := options(t, r.URL)
	o.Rate = 100
	o.Batch = 10
	began := time.Now()
	until(t, o, st, caughtUp())
	if took := time.Since(began); took < 300*time.Millisecond { // one series goes in one request; the wait follows it
		t.Errorf("40 samples at 100 a second in %v", took)
	}
	if n := len(r.have()); n != 40 {
		t.Error(strconv.Itoa(n))
	}
}
