package target

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Trust logs in whatever certificate the server shows and whoever runs it, and remembers that: in place of what was
// remembered, or with add beside it. With proof the server must prove that it knows the password, see vouched, and
// later ones that do so take its place.
func Trust(ctx context.Context, s endpoint.Spec, add, proof bool) (x endpoint.Accepted, err error) {
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
	t, err := Open(ctx, fresh)
	if err != nil {
		return x, err
	}
	t.Close()
	is := fresh.Fingerprint()
	if proof {
		if c := vouched(ctx, fresh); c == nil || endpoint.FingerprintOf(c) != is {
			return x, &endpoint.Error{
				Op: "have proved the certificate of", Kind: endpoint.TLSFailed, Target: s.Where(),
				Err: errors.New("the server does not prove it"),
				Fix: "MariaDB 11.4 and later do so for accounts with mysql_native_password and a self-generated " +
					"certificate",
			}
		}
	}
	now, err := fresh.Known.Of(s.Place())
	if err != nil {
		return x, err
	}
	x.Is, x.Account = is, strings.Join(endpoint.Accounts(now), ", ")
	return x, s.Known.Update(s.Place(), func(have []endpoint.Mark) []endpoint.Mark {
		if !add {
			have = nil
		}
		for _, m := range now {
			have = slices.DeleteFunc(have, func(h endpoint.Mark) bool { return h.By == m.By && h.Value == m.Value })
			m.Proof = proof && m.By == endpoint.ByCertificate
			have = append(have, m)
		}
		return have
	})
}
