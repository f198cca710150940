package screen

import (
	"fmt"
	"strings"
	"time"
)

// parseTime reads a moment as people type it: a time of day (today's, or yesterday's when it has not come yet), a date
// with a time, or how long ago. now and loc say what today is.
func parseTime(s string, now time.Time, loc *time.Location) (time.Time, error) {
	s = strings.TrimSpace(s)
	now = now.In(loc)
	if ago, ok := strings.CutPrefix(s, "-"); ok {
		d, err := time.ParseDuration(ago)
		if err != nil || d < 0 {
			return time.Time{}, fmt.Errorf("%q is not a duration: -30s, -5m, -1h30m", clean(s))
		}
		return now.Add(-d), nil
	}
	for _, f := range []string{"15:04:05", "15:04"} {
		if t, err := time.ParseInLocation(f, s, loc); err == nil {
			at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, loc)
			if at.After(now) {
				at = time.Date(now.Year(), now.Month(), now.Day()-1, t.Hour(), t.Minute(), t.Second(), 0, loc)
			}
			return at, nil
		}
	}
	for _, f := range []string{
		time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04",
		"2006-01-02T15:04", "2006-01-02",
	} {
		if t, err := time.ParseInLocation(f, s, loc); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: 14:03, 14:03:20, 2026-01-31 14:03 or -5m", clean(s))
}
