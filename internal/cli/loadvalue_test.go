package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestLoadValues(t *testing.T) {
	f := func(v pflag.Value, in, want string) {
		t.Helper()
		if err := v.Set(in); err != nil || v.String() != want {
			t.Errorf("%s: got %s, %v; want %s", in, v, err, want)
		}
	}
	f(new(switchValue), "on", "on")
	f(new(switchValue), "TRUE", "on")
	f(new(switchValue), "off", "off")
	f(new(switchValue), "0", "off")
	f(new(secondsValue), "10", "10")
	f(new(secondsValue), "0.5", "0.5")
	f(new(secondsValue), "5m", "300")
	f(new(secondsValue), "0", "0")
	f(new(countValue), "10K", "10000")
	f(new(countValue), "2m", "2000000")
	f(new(percentileValue), "0", "0")
	f(new(percentileValue), "100", "100")

	bad := func(v pflag.Value, in string) {
		t.Helper()
		if err := v.Set(in); err == nil {
			t.Errorf("%s was taken as %s", in, v)
		}
	}
	bad(new(switchValue), "maybe")
	bad(new(secondsValue), "-1")
	bad(new(secondsValue), "-1s")
	bad(new(secondsValue), "1e300")
	bad(new(secondsValue), "NaN")
	bad(new(secondsValue), "soon")
	bad(new(countValue), "-1")
	bad(new(countValue), "1.5K")
	bad(new(countValue), "")
	bad(new(countValue), "99999999999G")
	bad(new(percentileValue), "99.9")
	bad(new(percentileValue), "101")
}

func TestListValue(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		v := listValue[int]{parse: threadCount}
		err := v.Set(in)
		if got := fmt.Sprint(v.list); got != want || (err != nil) != (want == "[]") {
			t.Errorf("%q: got %s, %v; want %s", in, got, err, want)
		}
	}
	f("4", "[4]")
	f("1,2, 1K", "[1 2 1000]")
	f("0", "[]")
	f("1,,2", "[]")
	f("", "[]")
	f("1,x", "[]")
	f("1M", "[]")

	v := listValue[time.Duration]{parse: parseSeconds}
	if err := v.Set("1,90s"); err != nil || v.list[1] != 90*time.Second {
		t.Errorf("%v, %v", v.list, err)
	}
	p := listValue[float64]{parse: percentileNumber}
	for _, s := range []string{"0", "101", "p99"} {
		if err := p.Set(s); err == nil {
			t.Errorf("percentile %s was taken", s)
		}
	}
}
