package access

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

func TestPausesGrow(t *testing.T) {
	f := func(failed int, want time.Duration) {
		t.Helper()
		if got := pauseOf(failed, freeByName, mostByName); got != want {
			t.Errorf("after %d: %v, want %v", failed, got, want)
		}
	}
	f(0, 0)
	f(4, 0)
	f(5, time.Second)
	f(6, 2*time.Second)
	f(8, 8*time.Second)
	f(11, time.Minute)
	f(1_000_000, time.Minute)
}

// guess tries for as long as a patient attacker would and returns how many tries came through.
func guess(x *throttle, name, address func(i int) string, d time.Duration) (tries int) {
	for at := noon; at.Before(noon.Add(d)); at = at.Add(time.Second) {
		for i := range 20 {
			if x.begin(name(i), address(i), at) == 0 {
				tries++
			}
		}
	}
	return tries
}

func TestGuessingIsSlow(t *testing.T) {
	same := func(s string) func(int) string { return func(int) string { return s } }
	each := func(i int) string { return fmt.Sprint("x", i) }
	f := func(what string, name, address func(int) string, most int) {
		t.Helper()
		if n := guess(newThrottle(), name, address, 6*time.Hour); n > most || n < 10 {
			t.Errorf("%s: %d tries in six hours", what, n)
		}
	}
	f("one name, one address", same("anna"), same("192.0.2.1"), 60)
	f("many names, one address", each, same("192.0.2.1"), 60)
	f("one name, many addresses", same("anna"), each, 6*60+20)
}

func TestStrangersDoNotKeepTheOwnerOut(t *testing.T) {
	x := newThrottle()
	if x.begin("anna", "192.0.2.1", noon) != 0 {
		t.Fatal("the first try waits")
	}
	x.succeed("anna", "192.0.2.1", noon)
	for i := range 500 {
		x.begin("anna", fmt.Sprint("10.0.0.", i), noon.Add(time.Duration(i)*time.Second))
	}
	at := noon.Add(500 * time.Second)
	if w := x.begin("anna", "10.9.9.9", at); w <= 0 || w > mostByName {
		t.Errorf("a stranger waits for %v", w)
	}
	if w := x.begin("anna", "192.0.2.1", at); w != 0 {
		t.Errorf("the owner waits for %v", w)
	}
}

func TestSuccessDoesNotWashAnAddressClean(t *testing.T) {
	x := newThrottle()
	at := noon
	for range 200 { // somebody with a login of his own tries another's in between
		for range 5 {
			at = at.Add(time.Second)
			x.begin("anna", "192.0.2.1", at)
		}
		if x.begin("eve", "192.0.2.1", at) == 0 {
			x.succeed("eve", "192.0.2.1", at)
		}
	}
	if w := x.begin("ben", "192.0.2.1", at); w == 0 {
		t.Error("the address waits for nothing")
	}
}

func TestTriesAtTheSameTimeAllCount(t *testing.T) {
	x := newThrottle()
	var passed atomic.Int32
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if x.begin("anna", "192.0.2.1", noon) == 0 {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	if n := passed.Load(); n != freeByName+1 {
		t.Fatalf("%d passed", n)
	}
}

func TestFailuresAreForgotten(t *testing.T) {
	x := newThrottle()
	for i := range 30 {
		x.begin("anna", "192.0.2.1", noon.Add(time.Duration(i)*time.Hour/2))
	}
	at := noon.Add(15*time.Hour + forgetAfter)
	for range freeByName {
		if w := x.begin("anna", "192.0.2.1", at); w != 0 {
			t.Fatalf("waits for %v", w)
		}
	}
}

func TestMemoryOfTheThrottleIsBounded(t *testing.T) {
	x := newThrottle()
	for i := range 3 * maxCounts {
		a := fmt.Sprint(i)
		if x.begin(a, a, noon) == 0 && i%2 == 0 {
			x.succeed(a, a, noon)
		}
	}
	if len(x.counts) > maxCounts+2 || len(x.known) > maxCounts {
		t.Fatalf("%d counts, %d known", len(x.counts), len(x.known))
	}
}

// TestStrangersAtTheSameAddressDoNotKeepTheOwnerOut: a dozen wrong names from an address hold up whoever never logged
// in there, and nobody who did. Guessing the known name's password there is slow all the same.
func TestStrangersAtTheSameAddressDoNotKeepTheOwnerOut(t *testing.T) {
	x := newThrottle()
	x.begin("anna", "127.0.0.1", noon)
	x.succeed("anna", "127.0.0.1", noon)
	for i := range 500 {
		x.begin(fmt.Sprint("stranger", i), "127.0.0.1", noon.Add(time.Duration(i)*time.Second))
	}
	at := noon.Add(500 * time.Second)
	if w := x.begin("ben", "127.0.0.1", at); w <= 0 {
		t.Error("whoever never logged in there waits for nothing")
	}
	if w := x.begin("anna", "127.0.0.1", at); w != 0 {
		t.Errorf("the owner waits for %v", w)
	}
	x.succeed("anna", "127.0.0.1", at)
	same := func(s string) func(int) string { return func(int) string { return s } }
	if n := guess(x, same("anna"), same("127.0.0.1"), 6*time.Hour); n > 6*60+20 {
		t.Errorf("%d tries in six hours", n)
	}
}
