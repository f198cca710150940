package page

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestDiagnoseRange diagnoses a time that is shown, from stored data: the diagnosis says that it is of the past.
func TestDiagnoseRange(t *testing.T) {
	s := stage(t)
	s.parcels(t, "ranges")
	began := time.Now()
	eventually(t, "some seconds are over that were read without a hole", func() error {
		if left := 8*time.Second - time.Since(began); left > 0 {
			return fmt.Errorf("%v are left", left)
		}
		var x struct{ Times []time.Time }
		s.Get(fmt.Sprintf("states?target=shop&from=%d", began.Add(-time.Minute).Unix()), &x)
		for i := 1; i < len(x.Times); i++ {
			if hole := x.Times[i].Sub(x.Times[i-1]).Abs(); hole > 4*time.Second { // 5 s are refused
				began = time.Now()
				return fmt.Errorf("nothing was read for %v", hole)
			}
		}
		return nil
	})
	b := s.Browser(t)
	visit(b, fmt.Sprintf("/overview?target=shop&from=%d&to=%d", began.Unix(), began.Add(6*time.Second).Unix()))
	b.ClickText("Diagnose this range")
	b.WaitURL("diagnosis=")
	b.WaitText(".diagnosis", "From stored data:")
	b.WaitText(".diagnosis", "diagnosed at")
	b.Shot("past")
	// Whoever opens something else meanwhile stays there.
	visit(b, fmt.Sprintf("/overview?target=shop&from=%d&to=%d", began.Unix(), began.Add(6*time.Second).Unix()))
	b.Wait(".range button")
	running := func() (n, all int) {
		var x struct {
			Tasks []struct{ Kind, State string }
		}
		s.Get("tasks", &x)
		for _, k := range x.Tasks {
			if k.Kind == "diagnose" {
				all++
				if k.State == "running" {
					n++
				}
			}
		}
		return n, all
	}
	_, before := running()
	b.Eval(`(() => {
		[...document.querySelectorAll('.range button')].find((x) => x.textContent.includes('Diagnose this')).click()
		document.querySelector('nav.rail a[href*="queries"]').click()
	})()`, nil)
	b.Until("the diagnosis is done", func() error {
		if n, all := running(); n > 0 || all == before {
			return fmt.Errorf("%d of %d diagnoses are running", n, all)
		}
		return nil
	})
	b.Eval(`new Promise((done) => setTimeout(done, 1000))`, nil) // three times as long as between two looks at the task
	if !strings.Contains(b.URL(), "/queries") {
		t.Errorf("the page went to %s", b.URL())
	}
	visit(b, "/overview?target=shop&from=-1h&to=-30m")
	if why := b.Attr(".range button[aria-disabled]", "title"); !strings.Contains(why, "10 minutes") {
		t.Errorf("a range of half an hour: %q", why)
	}
}
