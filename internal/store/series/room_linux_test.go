package series

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/store/reserve"
)

// smallDisk mounts a file system of 48 MiB and returns a function that fills it but for some bytes, and one that
// empties it again.
func smallDisk(t *testing.T) (dir string, fill func(but int64), empty func()) {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount %s: %v", disk, err)
		}
	})
	other := filepath.Join(disk, "other")
	fill = func(but int64) {
		t.Helper()
		f, err := os.OpenFile(other, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var st syscall.Statfs_t
		if err := syscall.Statfs(disk, &st); err != nil {
			t.Fatal(err)
		}
		left := int64(st.Bavail) * st.Bsize
		if _, err := f.Write(make([]byte, max(0, left-but))); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(disk, "series"), fill, func() {
		t.Helper()
		if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFullDisk fills the disk under a store that is written to: it goes on reading, says so, and goes on writing when
// there is room.
func TestFullDisk(t *testing.T) {
	f := func(name string, keep, but int64) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			dir, fill, empty := smallDisk(t)
			s, err := OpenWith(dir, Options{Reserve: reserve.Reserve{Bytes: keep}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() }) // before the unmounting
			second, rows := int64(0), 10
			put := func() error {
				second++
				r := reading.Reading{Target: "a", At: time.UnixMilli(t0 + second*1000)}
				for i := range rows {
					r.Samples = append(r.Samples, metric.Sample{
						Name: "x", Labels: metric.L("row", fmt.Sprint(i)),
						Value: float64(second),
					})
				}
				return s.AppendRound(r)
			}
			for range 10 {
				if err := put(); err != nil {
					t.Fatal(err)
				}
			}
			fill(but)
			rows = 20_000 // more than a page of the log
			for range 5 {
				if err := put(); !errors.Is(err, ErrFull) && !(s.room.broken && err != nil) {
					t.Fatalf("on a full disk: %v", err)
				}
			}
			if got := mustSelect(t, s, "x", nil, t0, t0+10_000); len(got) != 10 || len(got[0].Points) != 10 {
				t.Errorf("on a full disk %d series are read", len(got))
			}
			rows = 10
			empty()
			s.room.tried = time.Time{} // else it takes some seconds
			for range 5 {
				if err := put(); err != nil {
					t.Fatalf("with room again: %v", err)
				}
			}
			got := mustSelect(t, s, "x", metric.L("row", "3"), t0, math.MaxInt64)
			var at []int64
			for _, p := range got[0].Points {
				at = append(at, (p.At-t0)/1000)
			}
			if fmt.Sprint(at) != "[1 2 3 4 5 6 7 8 9 10 16 17 18 19 20]" {
				t.Errorf("seconds %v", at)
			}
			if w := strings.Join(s.Warnings(), "\n"); !strings.Contains(w, "5 rounds were not stored") {
				t.Errorf("warnings %q", w)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if r, err := Check(t.Context(), dir); err != nil || !r.OK() {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	f("less than the reserve", 4<<20, 1<<20)
	f("in the middle of a write", 1, 12<<10)
	f("nothing at all", 1, 0)
}

// TestSmallDisk: the default reserve leaves room for Dyno, too.
func TestSmallDisk(t *testing.T) {
	dir, _, _ := smallDisk(t)
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // before the unmounting
	if err := s.AppendRound(reading.Reading{
		Target: "a", At: time.UnixMilli(t0),
		Samples: []metric.Sample{{Name: "x"}},
	}); err != nil {
		t.Error(err)
	}
}

// TestNoRoomToOpen opens a store on a full disk.
func TestNoRoomToOpen(t *testing.T) {
	dir, fill, empty := smallDisk(t)
	fill(0)
	if _, err := Open(dir); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	empty()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
