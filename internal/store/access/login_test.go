package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestLogin(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	x := login(t, s, "anna")
	i, err := s.Sessions.Find(ctx, x.Secret, "")
	if err != nil || i.Name != "anna" || i.Role != Operator || i.Kind != ByLogin || i.ID != x.ID ||
		i.CSRF == "" || i.CSRF == x.Secret {
		t.Fatalf("%+v, %v", i, err)
	}
	f := func(name, password string) {
		t.Helper()
		_, err := s.Login(ctx, name, password, From{Address: name})
		if err == nil || err.Error() != ErrWrong.Error() { // the same words for all
			t.Errorf("%q: %v", name, err)
		}
	}
	f("anna", better)
	f("anna", "")
	f("ANNA", good)
	f("nobody", good)
	f("", "")
	f("anna' OR '1'='1", good)
	f("anna\x00", good)
	f("anna", strings.Repeat("x", 1<<20))
}

// worked is the CPU time of this process: what a busy machine makes one wait for is not in it.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	ok(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestUnknownNamesTakeAsLong compares the quickest of several tries in turn.
func TestUnknownNamesTakeAsLong(t *testing.T) {
	s, _ := staffed(t)
	known, unknown := time.Hour, time.Hour
	try := func(name, address string, least *time.Duration) {
		t.Helper()
		begun := worked(t)
		_, err := s.Login(t.Context(), name, better, From{Address: address})
		took := worked(t) - begun
		want(t, err, ErrWrong)
		*least = min(*least, took)
		s.logins = newThrottle()
	}
	for i := range 60 {
		try("ben", fmt.Sprint("k", i), &known)
		try("nobody", fmt.Sprint("u", i), &unknown)
		if i >= 8 && unknown < known*3/2 && known < unknown*3/2 {
			return
		}
	}
	t.Errorf("a name that is known takes %v, one that is not %v", known, unknown)
}

func TestPausesBetweenLogins(t *testing.T) {
	s, c := staffed(t)
	ctx := t.Context()
	var pause *PauseError
	for range freeByName + 1 {
		_, err := s.Login(ctx, "ben", better, here)
		want(t, err, ErrWrong)
	}
	_, err := s.Login(ctx, "ben", good, here) // even the right one: nothing is checked
	if !errors.As(err, &pause) || pause.Seconds() != 1 {
		t.Fatal(err)
	}
	_, err = s.Login(ctx, "anna", good, here) // another name from that address may
	ok(t, err)
	c.pass(time.Second)
	_, err = s.Login(ctx, "ben", good, here)
	ok(t, err)
	for range freeByName + 1 {
		_, err = s.Login(ctx, "nobody", good, From{Address: "198.51.100.1"})
		want(t, err, ErrWrong)
	}
	if _, err = s.Login(ctx, "nobody", good, From{Address: "198.51.100.1"}); !errors.As(err, &pause) {
		t.Fatalf("a name that nobody has is told apart: %v", err)
	}
}

func TestCheapHashesAreRenewed(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	db, err := s.file.DB(ctx, false)
	ok(t, err)
	_, err = db.Exec("UPDATE user SET password = ? WHERE name = 'ben'",
		hashPassword(good, cost{memory: 64, time: 1, threads: 1}))
	ok(t, err)
	login(t, s, "ben")
	var phc string
	ok(t, db.QueryRow("SELECT password FROM user WHERE name = 'ben'").Scan(&phc))
	if !strings.Contains(phc, "m=19456,t=2,p=1") {
		t.Fatal(phc)
	}
	login(t, s, "ben")
	_, err = db.Exec("UPDATE user SET password = 'plain' WHERE name = 'ben'")
	ok(t, err)
	_, err = s.Login(ctx, "ben", "plain", here)
	want(t, err, ErrCorrupt)
}

func TestFirstRun(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	stale, err := s.FirstToken(ctx)
	ok(t, err)
	token, err := s.FirstToken(ctx) // the next start's
	ok(t, err)
	_, err = s.LoginFirst(ctx, stale, "anna", good, here)
	want(t, err, ErrFirst)
	_, err = s.LoginFirst(ctx, "", "anna", good, here)
	want(t, err, ErrFirst)
	_, err = s.LoginFirst(ctx, token, "anna", "short", here) // the token is still good
	want(t, err, ErrInvalid)
	x, err := s.LoginFirst(ctx, token, "anna", good, here)
	ok(t, err)
	if i, err := s.Sessions.Find(ctx, x.Secret, ""); err != nil || i.Role != Operator {
		t.Fatal(i, err)
	}
	_, err = s.LoginFirst(ctx, token, "eve", good, here)
	want(t, err, ErrFirst)
	_, err = s.FirstToken(ctx)
	want(t, err, ErrExists)

	s, c := store(t)
	token, err = s.FirstToken(ctx)
	ok(t, err)
	c.pass(firstLife)
	_, err = s.LoginFirst(ctx, token, "anna", good, here)
	want(t, err, ErrFirst)

	s, _ = store(t)
	token, err = s.FirstToken(ctx)
	ok(t, err)
	ok(t, s.AddUser(ctx, "anna", Operator, good)) // at the command line meanwhile
	_, err = s.LoginFirst(ctx, token, "eve", good, here)
	want(t, err, ErrFirst)
}

func TestFirstTokenWorksOnce(t *testing.T) {
	s, _ := store(t)
	token, err := s.FirstToken(t.Context())
	ok(t, err)
	results := make(chan error, 4)
	for _, name := range []string{"a1", "a2", "a3", "a4"} {
		go func() {
			_, err := s.LoginFirst(t.Context(), token, name, good, From{Address: name})
			results <- err
		}()
	}
	in := 0
	for range 4 {
		if err := <-results; err == nil {
			in++
		} else if !errors.Is(err, ErrFirst) {
			t.Error(err)
		}
	}
	if us, err := s.Users(t.Context()); in != 1 || len(us) != 1 || err != nil {
		t.Fatalf("%d came in, %v, %v", in, us, err)
	}
}

func hashOf(t *testing.T, s *Store, name string) (phc string) {
	t.Helper()
	ok(t, s.row(t.Context(), "read", "SELECT password FROM user WHERE name = ?", []any{name}, []any{&phc}))
	return phc
}

// TestAPasswordChangedMeanwhile: whoever changes a password shuts out also the login that is just being checked.
func TestAPasswordChangedMeanwhile(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	phc, err := s.verify(ctx, "ben", good, here)
	ok(t, err)
	ok(t, s.SetPassword(ctx, "ben", better, ""))
	_, err = s.Sessions.open(ctx, "ben", phc, here)
	want(t, err, ErrWrong)
	if all, err := s.Sessions.List(ctx, "ben"); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
	phc, err = s.verify(ctx, "ben", better, here)
	ok(t, err)
	ok(t, s.RemoveUser(ctx, "ben", false))
	_, err = s.Sessions.open(ctx, "ben", phc, here)
	want(t, err, ErrWrong)
}

func TestChangePassword(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	f := func(by, own, name, password string, kind error) {
		t.Helper()
		if err := s.ChangePassword(ctx, by, own, here, name, password, ""); !errors.Is(err, kind) {
			t.Errorf("%s for %s: %v, want %v", by, name, err, kind)
		}
		s.logins = newThrottle()
	}
	f("ben", better, "ben", better, ErrWrong)
	f("ben", good, "anna", better, ErrWrong)
	f("ben", good, "ben", "short", ErrInvalid)
	f("anna", good, "nobody", better, ErrNotFound)
	f("nobody", good, "ben", better, ErrWrong)
	f("ben", good, "ben", better, nil)
	f("ben", good, "ben", good, ErrWrong)
	f("anna", good, "ben", good, nil)
	login(t, s, "ben")
}

// TestOfTwoWhoChangeAPasswordOneDoes: whoever is shut out by a change does not undo it with the one that was under way.
func TestOfTwoWhoChangeAPasswordOneDoes(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	const third = "seven brass kettles 3"
	phc, err := s.verify(ctx, "ben", good, here)
	ok(t, err)
	ok(t, s.SetPassword(ctx, "ben", better, ""))
	is := hashOf(t, s, "ben")
	want(t, s.setPassword(ctx, "ben", third, "", still(ctx, "ben", phc, "ben")), ErrWrong)
	// Nor does an operator that is none any more.
	phc, err = s.verify(ctx, "anna", good, here)
	ok(t, err)
	ok(t, s.AddUser(ctx, "carl", Operator, good))
	ok(t, s.SetRole(ctx, "anna", Viewer))
	want(t, s.setPassword(ctx, "ben", third, "", still(ctx, "anna", phc, "ben")), ErrWrong)
	if got := hashOf(t, s, "ben"); got != is {
		t.Error("the password is another one")
	}
	ok(t, s.setPassword(ctx, "anna", third, "", still(ctx, "anna", phc, "anna")))
}

// TestRenewingBringsNoPasswordBack: a hash of the old password does not take the place of the new one.
func TestRenewingBringsNoPasswordBack(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	was := hashOf(t, s, "ben")
	ok(t, s.SetPassword(ctx, "ben", better, ""))
	_, err := s.renew(ctx, "ben", good, was)
	want(t, err, ErrWrong)
	is := hashOf(t, s, "ben")
	if got, err := s.renew(ctx, "ben", better, was); err != nil || got != is { // another login was faster
		t.Fatal(got, err)
	}
	if got, err := s.renew(ctx, "ben", better, is); err != nil || got == is || got != hashOf(t, s, "ben") {
		t.Fatal(got, err)
	}
	ok(t, s.RemoveUser(ctx, "ben", false))
	_, err = s.renew(ctx, "ben", better, is)
	want(t, err, ErrWrong)
}

// TestWhatWasNotCheckedIsNoFailure: neither a busy machine nor a broken file makes anybody wait.
func TestWhatWasNotCheckedIsNoFailure(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	token, err := s.FirstToken(ctx)
	ok(t, err)
	db, err := s.file.DB(ctx, false)
	ok(t, err)
	const tries = freeByAddress + 2
	_, err = db.Exec("ALTER TABLE first RENAME TO hidden")
	ok(t, err)
	for range tries {
		_, err := s.LoginFirst(ctx, token, "anna", good, here)
		want(t, err, ErrCorrupt)
	}
	_, err = db.Exec("ALTER TABLE hidden RENAME TO first")
	ok(t, err)
	_, err = s.LoginFirst(ctx, token, "anna", good, here)
	ok(t, err)

	_, err = db.Exec("ALTER TABLE user RENAME TO hidden")
	ok(t, err)
	for range tries {
		_, err := s.Login(ctx, "anna", good, here)
		want(t, err, ErrCorrupt)
	}
	_, err = db.Exec("ALTER TABLE hidden RENAME TO user")
	ok(t, err)
	gone, leave := context.WithCancel(ctx)
	leave()
	for range cap(s.hashing) {
		s.hashing <- struct{}{}
	}
	for range tries {
		_, err := s.Login(gone, "anna", good, here)
		want(t, err, ErrBusyLogins)
	}
	for range cap(s.hashing) {
		<-s.hashing
	}
	login(t, s, "anna")
}

func TestStrangersDoNotHoldUpTheFirstRun(t *testing.T) {
	s, _ := store(t)
	token, err := s.FirstToken(t.Context())
	ok(t, err)
	for i := range 3 * freeByName {
		_, err := s.LoginFirst(t.Context(), newSecret(), "eve", good, From{Address: fmt.Sprint("198.51.100.", i)})
		want(t, err, ErrFirst)
	}
	_, err = s.LoginFirst(t.Context(), token, "anna", good, here)
	ok(t, err)
	stranger := From{Address: "198.51.100.99"}
	for range freeByAddress + 1 {
		_, err = s.LoginFirst(t.Context(), newSecret(), "eve", good, stranger)
		want(t, err, ErrFirst)
	}
	var pause *PauseError
	if _, err = s.LoginFirst(t.Context(), newSecret(), "eve", good, stranger); !errors.As(err, &pause) {
		t.Fatal(err)
	}
}

// TestTheFirstOperatorIsWrittenDown: the user and the entry come together or not at all.
func TestTheFirstOperatorIsWrittenDown(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	token, err := s.FirstToken(ctx)
	ok(t, err)
	db, err := s.file.DB(ctx, false)
	ok(t, err)
	_, err = db.Exec("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
	ok(t, err)
	if _, err = s.LoginFirst(ctx, token, "anna", good, here); err == nil {
		t.Fatal("nobody wrote it down")
	}
	if some, err := s.HasUsers(ctx); some || err != nil {
		t.Fatal("there is a user", err)
	}
	_, err = db.Exec("DROP TRIGGER full")
	ok(t, err)
	_, err = s.LoginFirst(ctx, token, "anna", good, here)
	ok(t, err)
	all, err := s.Audit.List(ctx, 0, 10)
	ok(t, err)
	if len(all) != 1 || all[0].Minor || all[0].Who != "anna" || all[0].From != here.Address ||
		all[0].What != "add the first operator" || all[0].Detail != "name=anna" || all[0].Outcome != "done" {
		t.Fatalf("%+v", all)
	}
}

func TestOnlyTwoHashesAtATime(t *testing.T) {
	s, _ := staffed(t)
	for range cap(s.hashing) {
		done, err := mayHash(t.Context(), s.hashing)
		ok(t, err)
		defer done()
	}
	begun := time.Now()
	_, err := s.Login(t.Context(), "anna", good, here)
	want(t, err, ErrBusyLogins)
	if time.Since(begun) > 30*time.Second {
		t.Fatal("it waited without an end")
	}
}

// TestASessionMakesAnAddressKnown: a name that has a session from an address is known there to the next process too.
func TestASessionMakesAnAddressKnown(t *testing.T) {
	s, c := staffed(t)
	ctx := t.Context()
	login(t, s, "anna")
	next, err := Open(ctx, s.Path(), Options{Now: c.now})
	ok(t, err)
	defer next.Close()
	for i := range 3 * freeByAddress {
		next.logins.begin(fmt.Sprint("stranger", i), here.Address, c.now())
	}
	var pause *PauseError
	if _, err := next.Login(ctx, "ben", good, here); !errors.As(err, &pause) {
		t.Errorf("a name that never logged in there: %v", err)
	}
	_, err = next.Login(ctx, "anna", good, here)
	ok(t, err)
}

// TestAnotherAccountHoldsNobodyUp: who guesses at a name on this machine keeps out nobody who logged in from another
// account of it, in the next process neither.
func TestAnotherAccountHoldsNobodyUp(t *testing.T) {
	s, c := staffed(t)
	ctx := t.Context()
	own, other := From{Address: "127.0.0.1", Account: "uid 1000"}, From{Address: "127.0.0.1", Account: "uid 1001"}
	f := func(s *Store) {
		t.Helper()
		var pause *PauseError
		for i := 0; pause == nil && i < 3*freeByAddress; i++ {
			if _, err := s.Login(ctx, "anna", better, other); !errors.As(err, &pause) {
				want(t, err, ErrWrong)
			}
		}
		if pause == nil {
			t.Fatal("guessing is not slow")
		}
		if _, err := s.Login(ctx, "anna", good, own); err != nil {
			t.Errorf("the owner: %v", err)
		}
		if err := s.ChangePassword(ctx, "anna", good, own, "anna", good, ""); err != nil {
			t.Errorf("the owner sets a password: %v", err)
		}
	}
	_, err := s.Login(ctx, "anna", good, own)
	ok(t, err)
	f(s)
	_, err = s.Login(ctx, "anna", good, own)
	ok(t, err)
	next, err := Open(ctx, s.Path(), Options{Now: c.now})
	ok(t, err)
	defer next.Close()
	f(next)
}

// TestTheRightFirstRunTokenIsNotHeldUp: strangers who guess at the token do not keep out whoever has it.
func TestTheRightFirstRunTokenIsNotHeldUp(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	token, err := s.FirstToken(ctx)
	ok(t, err)
	var pause *PauseError
	for range 3 * freeByAddress {
		if _, err = s.LoginFirst(ctx, "guess", "eve", good, here); errors.As(err, &pause) {
			break
		}
	}
	if pause == nil {
		t.Fatalf("guessing is not slow: %v", err)
	}
	_, err = s.LoginFirst(ctx, token, "anna", good, here)
	ok(t, err)
}
