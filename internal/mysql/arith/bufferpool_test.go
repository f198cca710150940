package arith

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestBufferPool(t *testing.T) {
	f := func(flavor, version string, ask Ask, wantSize uint64, instances int, chunk uint64, rules ...string) {
		t.Helper()
		p, err := BufferPool(dbms.Flavor(flavor), version, ask)
		if err != nil || p.Size != wantSize || p.Instances != instances || p.Chunk != chunk {
			t.Errorf("%s %s %+v: got %+v (%v), want %d in %d instances of chunks of %d", flavor, version, ask, p, err,
				wantSize, instances, chunk)
		}
		all := strings.Join(p.Rules, "\n")
		for _, r := range rules {
			if !strings.Contains(all, r) {
				t.Errorf("%s %s %+v: %q is not said in %q", flavor, version, ask, r, all)
			}
		}
		if len(rules) == 0 && len(p.Rules) > 0 && !strings.Contains(all, "is set: ") {
			t.Errorf("%s %s %+v: rules without need: %q", flavor, version, ask, all)
		}
	}
	// The manual's examples: 8 GiB in 16 instances fit, 9 GiB become 10.
	f("mysql", "8.0.33", Ask{Size: 8 * gib, Instances: 16}, 8*gib, 16, 128*mib)
	f("mysql", "8.0.33", Ask{Size: 9 * gib, Instances: 16}, 10*gib, 16, 128*mib,
		"128 MiB × 16 = 2 GiB: 9 GiB becomes 10 GiB")
	// The manual's example of chunks that are too large: 16 of 2 GiB in 2 GiB of pool become 128 MiB each.
	f("mysql", "5.7.44", Ask{Size: 2 * gib, Instances: 16, Chunk: 2 * gib}, 2*gib, 16, 128*mib,
		"16 chunks of 2 GiB are more than the pool")
	// 1.5 GiB asked, 2 GiB got.
	f("mysql", "5.7.44", Ask{Size: 1536 * mib}, 2*gib, 8, 128*mib, "have 8", "128 MiB × 8 = 1 GiB: 1536 MiB becomes "+
		"2 GiB")
	f("mariadb", "10.3.39-MariaDB", Ask{Size: 1536 * mib}, 2*gib, 8, 128*mib, "have 8")
	f("percona", "8.0.35-27", Ask{Size: 1023 * mib, Instances: 8}, 1024*mib, 1, 128*mib, "below 1 GiB has one")
	// no whole MiB there
	f("mysql", "5.7.44", Ask{Size: 1500 * mib, Instances: 13}, 1500*mib+7, 13, 120989539, "13 chunks of 128 MiB")
	f("mysql", "8.0.33", Ask{Size: 1500 * mib, Instances: 16}, 1504*mib, 16, 94*mib, "16 chunks of 128 MiB")
	// From 8.4 on CPUs and chunks decide: the smaller of a half and a quarter.
	f("mysql", "8.4.3", Ask{Size: 32 * gib, CPUs: 64}, 32*gib, 16, 128*mib, "128, and a quarter of the CPUs, 16, is 16")
	f("mysql", "8.4.3", Ask{Size: 1 * gib, CPUs: 64}, 1*gib, 4, 128*mib)
	f("mysql", "9.7.4", Ask{Size: 1 * gib, CPUs: 2}, 1*gib, 1, 128*mib)
	f("mysql", "9.7.4", Ask{Size: 64 * gib, Chunk: mib, CPUs: 1024}, 64*gib, 64, mib,
		"65536 chunks; more than 1000 slow it down", "66 MiB or more")
	// 1000 chunks are still well
	f("mysql", "8.0.33", Ask{Size: 2000 * mib, Instances: 1, Chunk: 2 * mib}, 2000*mib, 1, 2*mib)
	f("mysql", "9.7.4", Ask{}, 128*mib, 1, 128*mib, "no size is set")
	// No chunks.
	f("mysql", "5.6.14", Ask{Size: 1536*mib + 5}, 1536*mib, 8, 0, "whole MiB")
	f("mariadb", "10.1.48", Ask{Size: 500 * mib, Instances: 4}, 500*mib, 1, 0, "below 1 GiB")
	f("mysql", "5.6.14", Ask{Size: 1000 * mib, Instances: 3}, 1000*mib, 3, 0)
	f("mysql", "5.6.14", Ask{Size: 999 * mib, Instances: 3}, 999*mib, 1, 0, "below 1000 MiB")
	f("mariadb", "10.1.23", Ask{Size: 1023 * mib, Instances: 3}, 1023*mib, 1, 0, "below 1 GiB")
	f("mysql", "5.6.14", Ask{Size: 1}, 5*mib, 1, 0, "the minimum is 5 MiB")
	// One instance.
	f("mariadb", "10.6.18", Ask{Size: 200 * mib, Instances: 8}, 256*mib, 1, 128*mib,
		"innodb_buffer_pool_instances = 8 has no effect")
	f("mariadb", "10.6.18", Ask{Size: 100 * mib}, 100*mib, 1, 100*mib, "1 chunk of 128 MiB are more")
	f("mariadb", "10.11.6", Ask{Size: 2001 * mib}, 2001*mib, 1, 32784384, "a 64th")
	f("mariadb", "11.4.5", Ask{Size: 40 * mib}, 40*mib, 1, mib, "at least 1 MiB")
	// No chunks any more.
	f("mariadb", "10.11.19-MariaDB-0+deb12u1", Ask{Size: 100000000, Chunk: 3 * mib}, 95*mib, 1, 0, "no effect any more",
		"100000000 bytes become 95 MiB")
	f("mariadb", "11.8.3", Ask{Size: 1500 * mib}, 1500*mib, 1, 0, "cannot outgrow 1504 MiB")
	f("mariadb", "11.8.9", Ask{Size: 1500 * mib}, 1500*mib, 1, 0)
	f("mariadb", "11.4.7", Ask{Size: 1500 * mib}, 1500*mib, 1, 0)

	bad := func(flavor, version string, ask Ask) {
		t.Helper()
		if p, err := BufferPool(dbms.Flavor(flavor), version, ask); err == nil {
			t.Errorf("%s %s: %+v", flavor, version, p)
		}
	}
	bad("mysql", "5.5.62", Ask{Size: gib})
	bad("mysql", "", Ask{Size: gib})
	bad("mysql", "new", Ask{Size: gib})
	bad("postgres", "16.1", Ask{Size: gib})
	bad("mysql", "5.6.14", Ask{Size: gib, Chunk: 16 * mib})
	bad("mariadb", "11.4.5", Ask{Size: 1})
	bad("mariadb", "10.11.19", Ask{Size: 5 * mib})
}

func TestResize(t *testing.T) {
	f := func(flavor, version string, now Pool, to, want uint64, rule string) {
		t.Helper()
		p, err := Resize(dbms.Flavor(flavor), version, now, to)
		if err != nil || p.Size != want || p.Chunk != now.Chunk ||
			!strings.Contains(strings.Join(p.Rules, "\n"), rule) {
			t.Errorf("%s %s to %d: %+v (%v), want %d and %q", flavor, version, to, p, err, want, rule)
		}
	}
	f("mysql", "8.0.33", Pool{Size: 2 * gib, Instances: 8, Chunk: 128 * mib}, 1536*mib, 2*gib,
		"multiple of chunk × instances")
	f("mysql", "8.0.33", Pool{Size: 2 * gib, Instances: 8, Chunk: 128 * mib}, 900*mib, 2*gib,
		"cannot become smaller than 1 GiB")
	f("mysql", "9.7.4", Pool{Size: 208 * mib, Instances: 1, Chunk: 16 * mib}, 1, 16*mib, "the minimum is 5 MiB")
	f("mariadb", "10.11.19", Pool{Size: 95 * mib, Instances: 1, Max: 96 * mib}, 120*mib, 96*mib, "without a restart")
	f("mariadb", "10.11.19", Pool{Size: 95 * mib, Instances: 1, Max: 8 << 40}, 1, 6*mib, "the minimum is 6 MiB")
	f("mariadb", "11.4.5", Pool{Size: 95 * mib, Instances: 1, Chunk: 1556480}, 50000000, 51363840,
		"multiple of chunk × instances")
	if p, err := Resize("mariadb", "11.4.5", Pool{Size: 95 * mib, Instances: 1, Chunk: 1556480}, 1); err == nil {
		t.Errorf("11.4.5 goes below a chunk: %+v", p)
	}
	if p, err := Resize("mysql", "5.6.14", Pool{Size: gib}, 2*gib); err == nil {
		t.Errorf("5.6 resizes: %+v", p)
	}
}

// TestBufferPoolOfServers sets the arithmetic beside running servers: what is asked for, then what it is, then live
// changes.
func TestBufferPoolOfServers(t *testing.T) {
	f := func(flavor string, ask Ask, live ...uint64) {
		t.Run(fmt.Sprintf("%s/%d-%d-%d", flavor, ask.Size, ask.Instances, ask.Chunk), func(t *testing.T) {
			var settings []string
			set := func(name string, v uint64) {
				if v > 0 {
					settings = append(settings, fmt.Sprintf("innodb-buffer-pool-%s=%d", name, v))
				}
			}
			set("size", ask.Size)
			set("instances", uint64(ask.Instances))
			set("chunk-size", ask.Chunk)
			set("size-max", ask.Max)
			s := servers.Start(t, flavor, settings...)
			db := s.DB(t, "")
			var version string
			var got Pool
			read := func() {
				t.Helper()
				q := "SELECT VERSION(), @@innodb_buffer_pool_size, @@innodb_buffer_pool_instances, " +
					"@@innodb_buffer_pool_chunk_size, 0"
				if flavor == "mariadb" {
					q = "SELECT VERSION(), @@innodb_buffer_pool_size, 1, 0, @@innodb_buffer_pool_size_max"
				}
				if err := db.QueryRow(q).Scan(&version, &got.Size, &got.Instances, &got.Chunk, &got.Max); err != nil {
					t.Fatal(err)
				}
			}
			read()
			ask.CPUs = runtime.NumCPU()
			want, err := BufferPool(dbms.Flavor(flavor), version, ask)
			if err != nil {
				t.Fatal(err)
			}
			same := func() bool {
				return got.Size == want.Size && got.Instances == want.Instances &&
					got.Chunk == want.Chunk && got.Max == want.Max
			}
			if !same() {
				t.Fatalf("%+v: the server has %+v, the arithmetic says %+v", ask, got, want)
			}
			if !want.Tried && runtime.NumCPU() < 8 {
				t.Errorf("this test tries %s %s, but Tried says no", flavor, version)
			}
			for _, to := range live {
				if want, err = Resize(dbms.Flavor(flavor), version, want, to); err != nil {
					t.Fatal(err)
				}
				for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
					// Again and again: while an earlier change is under way the server answers with a warning and does
					// nothing.
					s.Exec(t, fmt.Sprintf("SET GLOBAL innodb_buffer_pool_size = %d", to))
					if read(); same() {
						break
					}
					if time.Now().After(end) {
						t.Fatalf("set to %d: the server has %+v, the arithmetic says %+v", to, got, want)
					}
				}
			}
		})
	}
	f("mariadb", Ask{Size: 100000000}, 50000000, 300*mib+1, 1)
	f("mariadb", Ask{Size: 100000000, Max: 100000000}, 120000000)
	f("mariadb", Ask{Size: 2001 * mib, Chunk: 3 * mib, Max: 1})
	f("mysql", Ask{Size: 100000000}, 50000000, 300000000)
	f("mysql", Ask{Size: 1500 * mib, Instances: 8}, 2049*mib, 1025*mib, 900*mib)
	f("mysql", Ask{Size: 2500 * mib}, 1100*mib)
	f("mysql", Ask{Size: 1500 * mib, Instances: 7, Chunk: 3000000})
	f("mysql", Ask{Size: 1500 * mib, Instances: 16})
	f("mysql", Ask{Size: 1500 * mib, Instances: 100}, 1600*mib)
	f("mysql", Ask{Size: 500 * mib, Instances: 4})
	f("mysql", Ask{Size: 1})
	f("mysql", Ask{Size: 2 * gib, Instances: 1, Chunk: 1}, 300*mib+1)
	f("mysql", Ask{Size: gib, Instances: 3, Chunk: 2 * gib}, 1500*mib)
	f("mysql", Ask{Size: gib - 1, Instances: 3, Chunk: 16 * mib}, 1)
}
