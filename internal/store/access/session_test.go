package access

import (
	"strings"
	"testing"
	"time"
)

func TestSessionsEnd(t *testing.T) {
	s, c := staffed(t)
	ctx := t.Context()
	x := login(t, s, "ben")
	for range 14 { // used twice a day: the idle end never comes, the absolute one does
		c.pass(Idle - time.Minute)
		_, err := s.Sessions.Find(ctx, x.Secret, "")
		ok(t, err)
	}
	c.pass(Absolute - 14*(Idle-time.Minute) - time.Second)
	i, err := s.Sessions.Find(ctx, x.Secret, "")
	ok(t, err)
	if alive, err := s.Alive(ctx, i); err != nil || !alive {
		t.Fatal(alive, err)
	}
	c.pass(time.Second)
	if alive, err := s.Alive(ctx, i); err != nil || alive {
		t.Fatal(alive, err)
	}
	_, err = s.Sessions.Find(ctx, x.Secret, "")
	want(t, err, ErrNotFound)

	x = login(t, s, "ben")
	c.pass(Idle)
	_, err = s.Sessions.Find(ctx, x.Secret, "")
	want(t, err, ErrNotFound)
	c.pass(-Idle) // it is gone, not only old
	_, err = s.Sessions.Find(ctx, x.Secret, "")
	want(t, err, ErrNotFound)
}

func TestBeingAliveIsNoSignOfLife(t *testing.T) {
	s, c := staffed(t)
	x := login(t, s, "ben")
	i, err := s.Sessions.Find(t.Context(), x.Secret, "")
	ok(t, err)
	for range 10 {
		c.pass(Idle / 10)
		_, err = s.Alive(t.Context(), i)
		ok(t, err)
	}
	if alive, err := s.Alive(t.Context(), i); alive || err != nil {
		t.Fatal(alive, err)
	}
}

func TestEndingSessions(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	a, b, c := login(t, s, "ben"), login(t, s, "ben"), login(t, s, "anna")
	all, err := s.Sessions.List(ctx, "")
	ok(t, err)
	mine, err := s.Sessions.List(ctx, "ben")
	ok(t, err)
	if len(all) != 3 || len(mine) != 2 || mine[0].User != "ben" || mine[0].Secret != "" ||
		mine[0].Address != here.Address || mine[0].Agent != here.Agent {
		t.Fatalf("%+v\n%+v", all, mine)
	}
	want(t, s.Sessions.End(ctx, c.ID, "ben"), ErrNotFound) // not his
	want(t, s.Sessions.End(ctx, c.Secret, ""), ErrNotFound)
	ok(t, s.Sessions.End(ctx, a.ID, "ben"))
	_, err = s.Sessions.Find(ctx, a.Secret, "")
	want(t, err, ErrNotFound)
	ok(t, s.Sessions.EndAll(ctx, "ben"))
	_, err = s.Sessions.Find(ctx, b.Secret, "")
	want(t, err, ErrNotFound)
	_, err = s.Sessions.Find(ctx, c.Secret, "")
	ok(t, err)
}

func TestRoleIsThatOfNow(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	ok(t, s.SetRole(ctx, "ben", Operator))
	x := login(t, s, "ben")
	was, err := s.Sessions.Find(ctx, x.Secret, "")
	ok(t, err)
	ok(t, s.SetRole(ctx, "ben", Viewer))
	is, err := s.Sessions.Find(ctx, x.Secret, "")
	if err != nil || was.Role != Operator || is.Role != Viewer {
		t.Fatal(was, is, err)
	}
	if alive, err := s.Alive(ctx, was); alive || err != nil {
		t.Fatal("what was begun as an operator goes on")
	}
}

func TestSessionsAreBounded(t *testing.T) {
	s, c := staffed(t)
	var first Session
	for i := range maxSessions + 3 {
		c.pass(time.Second)
		x, err := s.Sessions.open(t.Context(), "ben", hashOf(t, s, "ben"),
			From{Address: "a\nb", Agent: strings.Repeat("x", 5000)})
		ok(t, err)
		if i == 0 {
			first = x
		}
	}
	all, err := s.Sessions.List(t.Context(), "ben")
	ok(t, err)
	if len(all) != maxSessions || len(all[0].Agent) != 200 || strings.Contains(all[0].Address, "\n") {
		t.Fatalf("%d sessions, %+v", len(all), all[0])
	}
	_, err = s.Sessions.Find(t.Context(), first.Secret, "")
	want(t, err, ErrNotFound)
}

// TestSessionsOfNoUser: the first-run token opens a session without a user, once; it ends as sessions do, and with the
// first user.
func TestSessionsOfNoUser(t *testing.T) {
	s, c := store(t)
	ctx := t.Context()
	open := func() Session {
		t.Helper()
		token, err := s.FirstToken(ctx)
		ok(t, err)
		x, err := s.LoginLocal(ctx, token, here)
		ok(t, err)
		_, err = s.LoginLocal(ctx, token, here)
		want(t, err, ErrFirst)
		return x
	}
	x := open()
	i, err := s.Sessions.Find(ctx, x.Secret, "")
	if err != nil || i.Name != Local || i.Role != Operator || i.Kind != ByLogin || i.CSRF == "" {
		t.Fatalf("%+v, %v", i, err)
	}
	if all, err := s.Sessions.List(ctx, Local); err != nil || len(all) != 1 || all[0].User != Local {
		t.Fatalf("%+v, %v", all, err)
	}
	ok(t, s.Sessions.End(ctx, x.ID, Local))
	_, err = s.Sessions.Find(ctx, x.Secret, "")
	want(t, err, ErrNotFound)

	x = open()
	c.pass(Idle)
	_, err = s.Sessions.Find(ctx, x.Secret, "")
	want(t, err, ErrNotFound)

	x = open()
	ok(t, s.AddUser(ctx, "anna", Operator, good))
	if alive, err := s.Alive(ctx, i); alive || err != nil {
		t.Fatal(alive, err)
	}
	_, err = s.Sessions.Find(ctx, x.Secret, "")
	want(t, err, ErrNotFound)
	ok(t, s.RemoveUser(ctx, "anna", true))
	_, err = s.Sessions.Find(ctx, x.Secret, "")
	want(t, err, ErrNotFound)
}
