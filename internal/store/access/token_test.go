package access

import (
	"strings"
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	s, c := staffed(t)
	ctx := t.Context()
	x, err := s.AddToken(ctx, "grafana", Viewer, "anna", 24*time.Hour)
	ok(t, err)
	if !strings.HasPrefix(x.Secret, "dyno_") || len(x.Secret) != 48 {
		t.Fatal(x.Secret)
	}
	_, err = s.AddToken(ctx, "grafana", Viewer, "anna", time.Hour)
	want(t, err, ErrExists)
	for _, life := range []time.Duration{0, -1, MaxTokenLife + 1} {
		_, err = s.AddToken(ctx, "other", Viewer, "anna", life)
		want(t, err, ErrInvalid)
	}
	_, err = s.AddToken(ctx, "a b", Viewer, "anna", time.Hour)
	want(t, err, ErrInvalid)
	_, err = s.AddToken(ctx, "other", "root", "anna", time.Hour)
	want(t, err, ErrInvalid)
	i, err := s.ByToken(ctx, x.Secret)
	if err != nil || i.Kind != ByAPIToken || i.Name != "grafana" || i.Role != Viewer || i.CSRF != "" {
		t.Fatalf("%+v, %v", i, err)
	}
	for _, no := range []string{"", "dyno_", x.Secret + "a", x.Secret[5:], x.ID, strings.ToUpper(x.Secret), tokenMark +
		newSecret(), x.Secret[:47] + "A"} {
		if no == x.Secret {
			continue
		}
		_, err = s.ByToken(ctx, no)
		want(t, err, ErrNotFound)
	}
	_, err = s.BySession(ctx, x.Secret[5:], "") // one kind is not the other
	want(t, err, ErrNotFound)
	_, err = s.ByToken(ctx, tokenMark+login(t, s, "anna").Secret)
	want(t, err, ErrNotFound)
	all, err := s.Tokens(ctx)
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
	_, err = s.ByToken(ctx, x.Secret)
	want(t, err, ErrNotFound)
	ok(t, s.RemoveToken(ctx, x.ID))
	want(t, s.RemoveToken(ctx, x.ID), ErrNotFound)
	x, err = s.AddToken(ctx, "grafana", Operator, "anna", time.Hour)
	ok(t, err)
	ok(t, s.RemoveToken(ctx, "grafana")) // by name too
	_, err = s.ByToken(ctx, x.Secret)
	want(t, err, ErrNotFound)
}
