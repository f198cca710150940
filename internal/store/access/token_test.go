package access

import (
	"strings"
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	s, c := staffed(t)
	ctx := t.Context()
	x, err := s.Tokens.Add(ctx, "grafana", Viewer, "anna", 24*time.Hour)
	ok(t, err)
	if !strings.HasPrefix(x.Secret, "dyno_") || len(x.Secret) != 48 {
		t.Fatal(x.Secret)
	}
	_, err = s.Tokens.Add(ctx, "grafana", Viewer, "anna", time.Hour)
	want(t, err, ErrExists)
	for _, life := range []time.Duration{0, -1, MaxTokenLife + 1} {
		_, err = s.Tokens.Add(ctx, "other", Viewer, "anna", life)
		want(t, err, ErrInvalid)
	}
	_, err = s.Tokens.Add(ctx, "a b", Viewer, "anna", time.Hour)
	want(t, err, ErrInvalid)
	_, err = s.Tokens.Add(ctx, "other", "root", "anna", time.Hour)
	want(t, err, ErrInvalid)
	i, err := s.Tokens.Find(ctx, x.Secret)
	if err != nil || i.Kind != ByAPIToken || i.Name != "grafana" || i.Role != Viewer || i.CSRF != "" {
		t.Fatalf("%+v, %v", i, err)
	}
	for _, no := range []string{"", "dyno_", x.Secret + "a", x.Secret[5:], x.ID, strings.ToUpper(x.Secret), tokenMark +
		newSecret(), x.Secret[:47] + "A"} {
		if no == x.Secret {
			continue
		}
		_, err = s.Tokens.Find(ctx, no)
		want(t, err, ErrNotFound)
	}
	_, err = s.Sessions.Find(ctx, x.Secret[5:], "") // one kind is not the other
	want(t, err, ErrNotFound)
	_, err = s.Tokens.Find(ctx, tokenMark+login(t, s, "anna").Secret)
	want(t, err, ErrNotFound)
	all, err := s.Tokens.List(ctx)
	if err != nil || len(all) != 1 || all[0].Secret != "" || !all[0].Used.Equal(c.now()) || all[0].By != "anna" ||
		!all[0].Expires.Equal(x.Expires) {
		t.Fatalf("%+v, %v", all, err)
	}
	if alive, err := s.Alive(ctx, i); !alive || err != nil {
		t.Fatal(alive, err)
	}
	c.pass(24 * time.Hour)
	if alive, err := s.Alive(ctx, i); alive || err != nil {
		t.Fatal(alive, err)
	}
	_, err = s.Tokens.Find(ctx, x.Secret)
	want(t, err, ErrNotFound)
	ok(t, s.Tokens.Remove(ctx, x.ID))
	want(t, s.Tokens.Remove(ctx, x.ID), ErrNotFound)
	x, err = s.Tokens.Add(ctx, "grafana", Operator, "anna", time.Hour)
	ok(t, err)
	ok(t, s.Tokens.Remove(ctx, "grafana")) // by name too
	_, err = s.Tokens.Find(ctx, x.Secret)
	want(t, err, ErrNotFound)
}
