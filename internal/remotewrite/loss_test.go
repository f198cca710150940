package remotewrite

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/value"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/store/series"
)

func jsonReader(b []byte) io.Reader { return bytes.NewReader(b) }

// TestMain lets a test run this binary as the sender that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DYNO_TEST_WRITE_DIR"); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const lossSeries = 40

// child stores lossSeries series ten times a second and sends them, without end. With DYNO_TEST_WRITE_DRAIN it stores
// nothing and ends when all was acknowledged.
func child(dir string) error {
	s, err := series.Open(dir + "/store")
	if err != nil {
		return err
	}
	defer s.Close()
	replay, _ := strconv.Atoi(os.Getenv("DYNO_TEST_WRITE_REPLAY"))
	w, err := New(Options{
		URL: os.Getenv("DYNO_TEST_WRITE_URL"), Cursor: dir + "/cursor", Backfill: true,
		Settle: 150 * time.Millisecond, Every: 300 * time.Millisecond, Batch: 37,
		Replay: time.Duration(replay) * time.Second,
	}, s)
	if err != nil {
		return err
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	for n := 0; os.Getenv("DYNO_TEST_WRITE_DRAIN") == ""; n++ {
		at := time.Now()
		var ss []metric.Sample
		add := func(i int, v float64) {
			ss = append(ss, metric.Sample{
				Name: "loss", Labels: metric.L("n", strconv.Itoa(i)),
				At: at.UnixMilli(), Value: v,
			})
		}
		for i := range lossSeries {
			switch {
			case i%7 == 3: // of a source that is slower
			case i%4 == 0:
				add(i, float64(i)) // stands still
			case i%5 == 1 && n%5 < 2: // comes and goes
			default:
				add(i, float64(at.UnixMilli()%1e6)*100+float64(i))
			}
		}
		r := reading.Reading{Target: "t", At: at, Parts: []reading.Part{{Source: "fast", Samples: len(ss)}}}
		if n%5 == 0 {
			for i := 3; i < lossSeries; i += 7 {
				add(i, float64(n+i))
			}
			r.Parts = append(r.Parts, reading.Part{Source: "slow", Samples: len(ss) - r.Parts[0].Samples})
		}
		r.Samples = ss
		if err := s.AppendRound(r); err != nil {
			return err
		}
		fmt.Println(at.UnixMilli())
		time.Sleep(100 * time.Millisecond)
	}
	for w.Status().Acked.Before(began) || w.Status().Refused > 0 {
		if w.Status().Refused > 0 {
			return fmt.Errorf("refused: %w", w.Status().Err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	return <-done
}

// TestNoLoss kills both sides again and again while samples flow, and then compares every sample of the store with the
// receiver's.
func TestNoLoss(t *testing.T) {
	f := func(name string, start func(*testing.T, string) *receiver, replay int, end syscall.Signal) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(dir+"/receiver", 0o700); err != nil {
				t.Fatal(err)
			}
			r := start(t, dir+"/receiver")
			r.start(t)
			sender := func(drain string) (*exec.Cmd, *bufio.Scanner) {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "DYNO_TEST_WRITE_DIR="+dir, "DYNO_TEST_WRITE_URL="+r.url(),
					fmt.Sprint("DYNO_TEST_WRITE_REPLAY=", replay), "DYNO_TEST_WRITE_DRAIN="+drain)
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				})
				return cmd, bufio.NewScanner(out)
			}
			lines := func(s *bufio.Scanner, n int) {
				for range n {
					if !s.Scan() {
						t.Fatal("the sender has ended")
					}
					if strings.HasPrefix(s.Text(), "error") {
						t.Fatal(s.Text())
					}
				}
			}
			for round := range 3 {
				cmd, out := sender("")
				lines(out, 4+rand.IntN(7))
				if round%2 == 1 {
					r.end(t, end)
					lines(out, 3+rand.IntN(5))
					r.start(t)
					lines(out, 3+rand.IntN(5))
				}
				time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				for out.Scan() { // until it is dead
				}
				_ = cmd.Wait()
			}
			cmd, out := sender("yes")
			for out.Scan() {
				t.Error(out.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			r.end(t, syscall.SIGTERM)
			r.start(t)

			s, err := series.Open(dir + "/store")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got, total, ends := r.held(t, "loss"), 0, 0
			err = s.Each(t.Context(), 0, math.MaxInt64, func(x metric.Series) error {
				if x.Name != "loss" {
					return nil
				}
				n, lost := x.Labels.Get("n"), 0
				have := got[n]
				for i, p := range x.Points {
					if math.Float64bits(p.Value) == value.StaleNaN {
						ends++
						if r.prometheus() && ends%10 == 1 && r.now(t, fmt.Sprintf("loss{n=%q}", n), p.At) ||
							!r.prometheus() && have[p.At] != "end" {
							t.Errorf("series %s goes on at %d, where it ended", n, p.At)
						}
						delete(have, p.At)
						continue
					}
					if total++; r.prometheus() && i%50 == 0 && !r.now(t, fmt.Sprintf("loss{n=%q}", n), p.At) {
						t.Errorf("series %s is not there at %d", n, p.At)
					}
					if want := strconv.FormatFloat(p.Value, 'f', -1, 64); have[p.At] != want {
						if lost++; lost < 3 {
							t.Errorf("series %s at %d: receiver has %q, stored is %s", n, p.At, have[p.At], want)
						}
					}
					delete(have, p.At)
				}
				if lost > 0 {
					t.Errorf("series %s: %d of %d samples lost", n, lost, len(x.Points))
				}
				for at := range have {
					t.Errorf("series %s: the receiver has %d, which is not in the store", n, at)
				}
				delete(got, n)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) > 0 || total < 300 || ends == 0 {
				t.Errorf("%d samples and %d ends compared, %d series of the receiver are not in the store", total, ends,
					len(got))
			}
			t.Logf("%d samples and %d ends compared", total, ends)
			if t.Failed() {
				b, _ := os.ReadFile(r.log)
				t.Logf("%s", b[max(0, len(b)-3000):])
			}
		})
	}
	f("prometheus", prometheus, 0, syscall.SIGKILL)
	f("victoria-metrics", func(t *testing.T, dir string) *receiver {
		return victoria(t, dir, "-dedup.minScrapeInterval=1ms")
	}, 0, syscall.SIGTERM)
	f("victoria-metrics killed", func(t *testing.T, dir string) *receiver {
		return victoria(t, dir, "-dedup.minScrapeInterval=1ms")
	}, 15, syscall.SIGKILL)
}
