package access

import (
	"strings"
	"testing"
)

func TestUsers(t *testing.T) {
	s, c := store(t)
	ctx := t.Context()
	want(t, s.AddUser(ctx, "ben", Viewer, good), ErrInvalid) // nobody could manage
	ok(t, s.AddUser(ctx, "anna", Operator, good))
	ok(t, s.AddUser(ctx, "ben", Viewer, good))
	want(t, s.AddUser(ctx, "ben", Viewer, good), ErrExists)
	want(t, s.AddUser(ctx, "Ben", Viewer, good), ErrInvalid)
	want(t, s.AddUser(ctx, "carl", "admin", good), ErrInvalid)
	want(t, s.AddUser(ctx, "carl", Viewer, "short"), ErrInvalid)
	us, err := s.Users(ctx)
	ok(t, err)
	if len(us) != 2 || us[0].Name != "anna" || us[0].Role != Operator || us[1].Role != Viewer ||
		!us[0].Created.Equal(c.now()) || !us[0].Seen.IsZero() {
		t.Fatalf("%+v", us)
	}
	login(t, s, "ben")
	if us, err = s.Users(ctx); err != nil || !us[1].Seen.Equal(c.now()) {
		t.Fatalf("%+v, %v", us, err)
	}
	want(t, s.SetRole(ctx, "nobody", Viewer), ErrNotFound)
	want(t, s.SetPassword(ctx, "nobody", better, ""), ErrNotFound)
	want(t, s.RemoveUser(ctx, "nobody", true), ErrNotFound)
}

func TestOneOperatorStays(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	want(t, s.SetRole(ctx, "anna", Viewer), ErrLastOperator)
	want(t, s.RemoveUser(ctx, "anna", false), ErrLastOperator)
	want(t, s.RemoveUser(ctx, "anna", true), ErrLastOperator) // ben would be left
	ok(t, s.SetRole(ctx, "ben", Operator))
	ok(t, s.RemoveUser(ctx, "anna", false))
	want(t, s.RemoveUser(ctx, "ben", false), ErrLastOperator)
	ok(t, s.RemoveUser(ctx, "ben", true))
	if some, err := s.HasUsers(ctx); err != nil || some {
		t.Fatal(some, err)
	}
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	s, _ := staffed(t)
	ctx := t.Context()
	one, two, other := login(t, s, "ben"), login(t, s, "ben"), login(t, s, "anna")
	ok(t, s.SetPassword(ctx, "ben", better, one.ID))
	_, err := s.Sessions.Find(ctx, one.Secret, "")
	ok(t, err)
	_, err = s.Sessions.Find(ctx, two.Secret, "")
	want(t, err, ErrNotFound)
	_, err = s.Sessions.Find(ctx, other.Secret, "")
	ok(t, err)
	_, err = s.Login(ctx, "ben", good, here)
	want(t, err, ErrWrong)
	_, err = s.Login(ctx, "ben", better, here)
	ok(t, err)
	err = s.SetPassword(ctx, "ben", "too-short", "")
	want(t, err, ErrInvalid)
	if strings.Contains(err.Error(), "too-short") {
		t.Fatalf("the error tells the password: %v", err)
	}
}
