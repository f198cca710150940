package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

func TestServers(t *testing.T) {
	ctx := context.Background()
	y := yard(t)
	odd := openDir(t) // a program that is called as servers are and is none
	if err := os.WriteFile(filepath.Join(odd, "mysqld"), []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	y.ServerDirs = append(y.ServerDirs, odd)
	servers, err := y.Servers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[dbms.Flavor]Server{}
	paths := map[string]bool{}
	for _, s := range servers {
		seen[s.Flavor] = s
		if paths[s.Path] {
			t.Errorf("%s is listed twice", s.Path) // mysqld is a link to mariadbd in Debian
		}
		paths[s.Path] = true
		if strings.HasPrefix(s.Path, odd) {
			t.Errorf("%s counts as a server", s.Path)
		}
	}
	if len(maker.Numbers(seen["mariadb"].Version)) != 3 || len(maker.Numbers(seen["mysql"].Version)) != 3 {
		t.Fatalf("found %+v", servers)
	}

	good := func(spec string, want Server) {
		t.Helper()
		got, err := y.Resolve(ctx, spec)
		if err != nil || got.Path != want.Path || got.Version != want.Version || got.Flavor != want.Flavor {
			t.Errorf("%q: %+v %v", spec, got, err)
		}
	}
	my, maria := seen["mysql"], seen["mariadb"]
	version := maker.Numbers(my.Version)
	good("mysql", my)
	good(my.Spec(), my)
	good("mysql@"+strings.Join(strings.Split(my.Version, ".")[:2], "."), my)
	good("mysql@"+strings.Split(my.Version, ".")[0], my)
	good(my.Path, my)
	good(mysqlTree(t), my) // the root of an unpacked tree
	good("mariadb", maria)
	good("mariadb@"+maria.Version, maria)
	if s, err := y.Resolve(ctx, ""); err != nil || s.Flavor != "mariadb" {
		t.Errorf("no spec: %+v %v", s, err)
	}

	bad := func(spec string, says ...string) {
		t.Helper()
		_, err := y.Resolve(ctx, spec)
		var e *Error
		if !errors.Is(err, ErrNoServer) || !errors.As(err, &e) {
			t.Fatalf("%q: %v", spec, err)
		}
		for _, s := range says {
			if !strings.Contains(e.Error()+" HINT "+target.HintOf(err), s) {
				t.Errorf("%q: %v, hint %q: does not say %q", spec, err, target.HintOf(err), s)
			}
		}
	}
	if version[0] != 1 {
		bad("mysql@1.2", my.Spec(), maria.Spec(), "dyno sandbox install mysql@1.2")
	}
	bad("mariadb@1", "dyno sandbox install mariadb@1")
	bad("percona", "Percona")
	bad("oracle", "mariadb@10.11") // shows what a spec looks like
	bad(odd)
	bad(filepath.Join(odd, "mysqld"), "hello")
	bad("/nonexistent/mysqld")
}
