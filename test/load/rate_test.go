package load_test

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestStallShowsInResponseTimes stops the server for a second under a load with a rate of its own. Every operation that
// was due meanwhile has waited, the one at the beginning for the whole second, and the response times say so, whatever
// was sent.
func TestStallShowsInResponseTimes(t *testing.T) {
	const rate = 400
	s := servers.Start(t, "mariadb")
	data := words("--table-size=1000 --threads=4")
	dyno(t, words("oltp_point_select prepare"), as(s), data)
	for _, path := range []string{"off", "on"} {
		// A busy machine adds to what was planted: the best of some attempts must tell it exactly.
		exact := false
		for range 8 {
			if exact = stalled(t, s, rate,
				join([][]string{
					words("oltp_point_select run --time=4 --rate-kind=uniform --driver=" + path),
					as(s), data,
				})); exact {
				break
			}
		}
		if !exact {
			t.Errorf("driver=%s: not within 2 %% of the stall in any attempt", path)
		}
	}
}

// stalled runs a load for 4 s, stops the server for one of them, and tells whether the response times say so within 2
// %.
func stalled(t *testing.T, s *servers.Server, rate float64, args []string) bool {
	t.Helper()
	r := start(t, command(t, append(args, "--output=json", fmt.Sprintf("--rate=%v", rate))...))
	r.until(t, `"message":"tick"`, time.Minute)
	time.Sleep(100 * time.Millisecond) // the stall begins between two ticks, and covers one
	syscall.Kill(s.PID, syscall.SIGSTOP)
	begin := time.Now()
	time.Sleep(time.Second)
	syscall.Kill(s.PID, syscall.SIGCONT)
	stall := time.Since(begin).Seconds()
	e := r.wait(t, time.Minute)
	if e.code != 0 && e.code != 6 { // a busy machine can make the client late, and then it says so
		t.Fatalf("code %d: %s", e.code, e.err)
	}
	ticks, sum := figures(t, e.out)
	response, service, open := sum.Total.Response(), sum.Total.Latency(), sum.Total.Open
	if response == nil || open == nil {
		t.Fatalf("no response times in %+v", sum.Total)
	}
	// This holds on any machine: what was due is done or dropped, and who waited for the second has waited for it.
	if open.Due != sum.Total.Operations()+open.Dropped || response.Count() != sum.Total.Operations() {
		t.Fatalf("%d due, %d done, %d dropped, %d response times", open.Due, sum.Total.Operations(),
			open.Dropped, response.Count())
	}
	if n := float64(open.Due); math.Abs(n-4*rate) > 0.02*4*rate {
		t.Fatalf("%v operations were due in 4 s, want %v", n, 4*rate)
	}
	worst := response.Max().Seconds()
	// so many were due in the first half of the stall
	half := response.Quantile(1 - 0.5*stall*rate/float64(response.Count())).Seconds()
	if worst < 0.98*stall || half < 0.98*stall/2 { // or this test was held up itself
		t.Logf("a stall of %.3f s, and the longest response is %.3f s, the one of the middle of the stall %.3f s",
			stall, worst, half)
		return false
	}
	// Service times do not know: four operations were under way when the server stopped, all others waited for their
	// turn.
	if p := service.Quantile(0.99).Seconds(); p > stall/2 {
		t.Fatalf("service times have the stall at their 99th percentile: %.3f s", p)
	}
	var queue uint64
	for _, x := range ticks {
		queue = max(queue, x.Open.Queue)
	}
	t.Logf(
		"%s: stall %.3f s, longest response %.3f s, in the middle of the stall %.3f s; service time p99 %v; queue %d",
		sum.Path, stall, worst, half, service.Quantile(0.99), queue)
	// after the stall the queue takes its time
	return worst <= 1.02*stall && half <= 1.10*stall/2 && queue > uint64(rate/4)
}

// TestRateThatCannotBeMet asks for more than the sessions can do: what is not sent is counted, and nothing is lost.
func TestRateThatCannotBeMet(t *testing.T) {
	s := servers.Start(t, "mariadb")
	data := words("--table-size=1000 --threads=1")
	dyno(t, words("oltp_read_only prepare"), as(s), data)
	e := finish(t, command(t, join([][]string{
		words("oltp_read_only run --time=2 --output=json --rate=50K"), as(s),
		data,
	})...))
	if e.code != 0 && e.code != 6 {
		t.Fatalf("code %d: %s", e.code, e.err)
	}
	ticks, sum := figures(t, e.out)
	open := sum.Total.Open
	if open == nil || open.Due != sum.Total.Operations()+open.Dropped || open.Dropped == 0 {
		t.Fatalf("%+v with %d operations", open, sum.Total.Operations())
	}
	if n := float64(open.Due); math.Abs(n-100_000) > 5*math.Sqrt(100_000) {
		t.Errorf("%v operations were due in 2 s, want 100000", n)
	}
	var before uint64
	for _, x := range ticks {
		if x.Open == nil || x.Open.Queue < before && x.Open.Dropped == 0 {
			t.Errorf("the queue is %+v after %d", x.Open, before)
			continue
		}
		before = x.Open.Queue
	}
}
