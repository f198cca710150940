package target

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestPostgresIsNamed: a PostgreSQL server waits for the client's first word, as a firewall that drops packets does.
func TestPostgresIsNamed(t *testing.T) {
	s := pgserver.Start(t, "17")
	for _, x := range []endpoint.Spec{
		{Network: "tcp", Address: specAddress(s)}, {Network: "unix", Address: s.Socket},
	} {
		x.Scheme, x.User, x.ConnectTimeout = "mysql", "u", 200*time.Millisecond
		_, err := Open(t.Context(), x)
		if KindOf(err) != endpoint.NotAServer || !strings.Contains(HintOf(err), "postgres://u@") {
			t.Errorf("%v; %s", err, HintOf(err))
		}
	}
	_, err := Open(t.Context(), spec(t, "postgres://u@"+specAddress(s)+"/"))
	if KindOf(err) != endpoint.Unsupported || HintOf(err) == "" {
		t.Errorf("%v; %s", err, HintOf(err))
	}
}

func specAddress(s *pgserver.Server) string { return "127.0.0.1:" + strconv.Itoa(s.Port) }
