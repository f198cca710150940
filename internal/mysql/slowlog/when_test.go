package slowlog

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	var warm days
	f := func(in, want string, zoned bool) {
		t.Helper()
		for _, d := range []*days{{}, &warm, &warm} {
			for _, after := range []string{"", "\n# User@Host: a", " # User"} {
				micro, z, end := d.time([]byte(in+after), 0)
				if end != len(in) || z != zoned {
					t.Fatalf("%q: got %d, %v, end %d", in+after, micro, z, end)
				}
				if got := time.UnixMicro(micro).UTC().Format("2006-01-02T15:04:05.999999"); got != want {
					t.Fatalf("%q: got %s, want %s", in+after, got, want)
				}
			}
		}
	}
	bad := func(in string) {
		t.Helper()
		for _, after := range []string{"", "\n# User@Host: a[a] @ b []"} {
			if micro, _, end := warm.time([]byte(in+after), 0); end >= 0 {
				t.Errorf("%q: got %d, end %d", in+after, micro, end)
			}
		}
	}
	f("2026-11-21T07:33:34.123456Z", "2026-11-21T07:33:34.123456", true)
	f("2026-11-21T07:33:35.000001Z", "2026-11-21T07:33:35.000001", true)
	f("2026-11-21T07:33:35.5Z", "2026-11-21T07:33:35.5", true)
	f("2026-11-21T07:33:34.123456+05:30", "2026-11-21T02:03:34.123456", true)
	f("2026-11-21T07:33:34.123456-01:00", "2026-11-21T08:33:34.123456", true)
	f("2026-11-21T07:33:34Z", "2026-11-21T07:33:34", true)
	f("2026-11-21 07:33:34", "2026-11-21T07:33:34", false)
	f("2024-02-29T23:59:59.999999Z", "2024-02-29T23:59:59.999999", true)
	f("2016-12-31T23:59:60.000000Z", "2017-01-01T00:00:00", true)
	f("071218 11:48:27", "2007-12-18T11:48:27", false)
	f("071218 11:48:28", "2007-12-18T11:48:28", false)
	f("090504  9:07:24", "2009-05-04T09:07:24", false)
	f("700101  0:00:01", "1970-01-01T00:00:01", false)
	for _, s := range []string{
		"", "2026", "2026-11-21", "2026-13-21T07:33:34.123456Z", "2026-11-00T07:33:34.123456Z",
		"2026-11-21T24:33:34.123456Z", "2026-11-21T07:60:34.123456Z",
		"2026-11-21T07:33:61.123456Z", "2026-11-21T07:33:34.123456Zx", "2026-11-21T07:33:34.12345xZ",
		"20x6-11-21T07:33:34.123456Z", "202x-11-21T07:33:34.123456Z",
		"2026-11-21T07:33:34.123456+5:30", "2026-11-21T07:33:34.123456+25:00", "2026-11-21x07:33:34", "071318 11:48:27",
		"07x218 11:48:27", "071218 25:48:27",
		"071218 11:48:2x", "x71218 11:48:27", "071218 11:48:99", "1795246414",
	} {
		bad(s)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		at := time.UnixMicro(r.Int64N(4e15)).UTC()
		f(at.Format("2006-01-02T15:04:05.000000Z"), at.Format("2006-01-02T15:04:05.999999"), true)
	}
}
