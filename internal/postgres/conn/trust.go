package conn

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Trust logs in whatever certificate the server shows and whoever runs it, and remembers that: in place of what was
// remembered, or with add beside it.
func Trust(ctx context.Context, s endpoint.Spec, add bool) (x endpoint.Accepted, err error) {
	all, err := s.Known.Of(s.Place())
	if err != nil || s.Known == nil {
		return x, err
	}
	x.Was, x.WasAccounts = endpoint.Values(all, endpoint.ByCertificate), endpoint.Accounts(all)
	dir, err := os.MkdirTemp("", "dyno-trust-")
	if err != nil {
		return x, err
	}
	defer os.RemoveAll(dir)
	fresh := s
	fresh.OnlyTrusted = false
	// where nothing is remembered, the first one is
	fresh.Known = endpoint.OpenKnown(filepath.Join(dir, "known_servers"))
	if _, err := Open(ctx, fresh); err != nil {
		return x, err
	}
	now, err := fresh.Known.Of(s.Place())
	if err != nil {
		return x, err
	}
	x.Is, x.Account = fresh.Fingerprint(), strings.Join(endpoint.Accounts(now), ", ")
	return x, s.Known.Update(s.Place(), func(have []endpoint.Mark) []endpoint.Mark {
		if !add {
			have = nil
		}
		for _, m := range now {
			have = slices.DeleteFunc(have, func(h endpoint.Mark) bool { return h.By == m.By && h.Value == m.Value })
			have = append(have, m)
		}
		return have
	})
}
