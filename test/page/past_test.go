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
	eventually(t, "some seconds are over", func() error {
		if left := 8*time.Second - time.Since(began); left > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
	b := s.Browser(t)
	visit(b, fmt.Sprintf("/overview?target=shop&from=%d&to=%d", began.Unix(), began.Add(6*time.Second).Unix()))
	b.ClickText("Diagnose this range")
	b.WaitURL("diagnosis=")
	b.WaitText(".diagnosis", "A past window")
	b.WaitText(".diagnosis", "from stored data")
	b.Shot("past")
	visit(b, "/overview?target=shop&from=-1h&to=-30m")
	if why := b.Attr(".range button[aria-disabled]", "title"); !strings.Contains(why, "10 minutes") {
		t.Errorf("a range of half an hour: %q", why)
	}
}
