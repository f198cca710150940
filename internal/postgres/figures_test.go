package postgres

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestTelling: sizes are those that the server itself writes with their unit.
func TestTelling(t *testing.T) {
	s := pgserver.Start(t, "17", "shared_buffers=48MB", "work_mem=6MB", "max_wal_size=2GB")
	x, err := Family{}.Open(t.Context(), endpoint.Spec{
		Scheme: endpoint.Postgres, Network: "unix", Address: s.Socket, User: s.User, Database: "postgres",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	snap, err := x.(Server).Look(t.Context(), family.Look{Window: family.MinWindow})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, y := range (Family{}).Names().Telling(snap.Variables) {
		got[y.Name] = y.Value
	}
	if got["shared_buffers"] != "48 MiB" || got["work_mem"] != "6 MiB" || got["max_wal_size"] != "2 GiB" ||
		got["wal_level"] != "replica" {
		t.Error(got)
	}
}
