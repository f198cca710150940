package sandbox

import (
	"context"
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

func TestRecord(t *testing.T) {
	dir := t.TempDir()
	if _, ok, err := readRecord(dir); ok || err != nil {
		t.Fatal("a record of nothing", err)
	}
	r := record{
		Format: recordFormat, Server: Server{Flavor: "mysql", Version: "9.7.4", Path: "/x/mysqld", Origin: Installed},
		Settings: map[string]string{"a": "b"}, Port: 1234,
		Run: "/x/run", Created: time.Unix(1, 2).UTC(), Process: host.Identity{PID: 1, Start: 2, Boot: "x"}, Ready: true,
	}
	if err := r.save(dir); err != nil {
		t.Fatal(err)
	}
	got, ok, err := readRecord(dir)
	if !ok || err != nil || !reflect.DeepEqual(got, r) {
		t.Fatalf("%+v %v %v", got, ok, err)
	}
	if err := os.WriteFile(recordFile(dir), []byte(`{"format": 99}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readRecord(dir); err == nil {
		t.Fatal("a record of the future is read")
	}
}

// A record that cannot be read is listed with the reason, and its sandbox not removed: a server may work in it.
func TestRecordDamaged(t *testing.T) {
	ctx := context.Background()
	y, err := Open(t.TempDir(), makers...)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(sandboxDir(y.Home, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordFile(sandboxDir(y.Home, "a")), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := find(t, y, "a"); s.Problem == "" || s.State == Running {
		t.Fatalf("%+v", s)
	}
	var e *Error
	if err := y.Remove(ctx, "a"); !errors.As(err, &e) || target.HintOf(err) == "" {
		t.Fatal(err)
	}
	if !exists(sandboxDir(y.Home, "a")) {
		t.Fatal("removed")
	}
}

// A directory without a record is what a killed maker leaves.
func TestUnfinished(t *testing.T) {
	ctx := context.Background()
	y, err := Open(t.TempDir(), makers...)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := y.List(ctx); err != nil || len(list) != 0 || exists(sandboxesIn(y.Home)) {
		t.Fatal("a yard that is not there", list, err)
	}
	if _, err := y.Find(ctx, "a"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if err := y.Remove(ctx, "a"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if err := os.MkdirAll(sandboxDir(y.Home, "a")+"/data", 0o755); err != nil {
		t.Fatal(err)
	}
	if s := find(t, y, "a"); s.State != Unfinished {
		t.Fatalf("%+v", s)
	}
	release, _, err := acquire(ctx, y.Home, "a", false)
	if err != nil {
		t.Fatal(err)
	}
	if s := find(t, y, "a"); s.State != Starting {
		t.Fatalf("while it is locked: %+v", s)
	}
	if err := y.Remove(ctx, "a"); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	release()
	if err := y.Down(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if err := y.Remove(ctx, "a"); err != nil || exists(sandboxDir(y.Home, "a")) {
		t.Fatal(err)
	}
	if err := y.Remove(ctx, "a"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}
