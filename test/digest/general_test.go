package digest_test

import (
	"path/filepath"
	"testing"

	"github.com/dyno-perf/dyno/test/peer"
)

// TestGeneralLog has real servers write general logs, and holds ids and counts against pt-query-digest's.
func TestGeneralLog(t *testing.T) {
	everywhere(t, func(t *testing.T, l *logger) {
		l.do(t, tables...)
		l.do(t, "SET GLOBAL log_output='FILE'", "SET GLOBAL general_log_file='digest-general.log'",
			"SET SESSION sql_log_off=1", "SET GLOBAL general_log=ON")
		asked := l.status(t, "Questions")
		own := uint64(1) // the status itself
		for range 2 {
			c := l.session(t, "root", "d1")
			for run := range 3 {
				for _, k := range kinds {
					if !k.fails {
						runKind(t, c, k, run)
					}
				}
			}
			c.Close()
		}
		asked = l.status(t, "Questions") - asked - own
		l.do(t, "SET GLOBAL general_log=OFF")
		path := filepath.Join(l.variable(t, "datadir"), "digest-general.log")
		r := digest(t, 0, path)
		if r.Global.Source != "general_log" {
			t.Errorf("source %q", r.Global.Source)
		}
		queries := uint64(0)
		got := counts{}
		for _, c := range r.Classes {
			got[c.Fingerprint] = c.Count
			if _, has := c.Attributes["query_time"]; has {
				t.Errorf("%s: a general log tells no time", c.Fingerprint)
			}
			if len(c.Item) < 5 || c.Item[:5] != "ADMIN" {
				queries += c.Count
			}
		}
		if queries < asked*9/10 || queries > asked+20 {
			t.Errorf("%d statements, the server was asked %d", queries, asked)
		}
		p, err := peer.PtDigest(t.Context(), "--type", "genlog", path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Classes {
			if c.Fingerprint == "administrator command: Execute" {
				// of a prepared statement, whose text stands beside it; see docs/digest.md
				got["select a from t? where id = ?"] -= uint64(c.Count)
				got[c.Fingerprint] += uint64(c.Count)
			}
		}
		for _, c := range p.Classes {
			if got[c.Fingerprint] != uint64(c.Count) {
				t.Errorf("%q: %d, pt-query-digest has %v", cut(c.Fingerprint), got[c.Fingerprint], c.Count)
			}
			delete(got, c.Fingerprint)
		}
		for f, n := range got {
			t.Errorf("pt-query-digest has none of %d %q", n, cut(f))
		}
	})
}
