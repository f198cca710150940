package capture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestTextsHaveABound: an answer that is kept whole is one of some thousand rows.
func TestTextsHaveABound(t *testing.T) {
	x := open(t, servers.Start(t, "mariadb"), "root")
	conn, err := x.ReadingConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for n, want := range map[int]string{mostTexts: "", mostTexts + 1: "more than"} {
		_, rows, err := texts(t.Context(), conn, fmt.Sprintf("SELECT seq FROM mysql.seq_1_to_%d", n))
		if (want == "") != (len(rows) == n) || (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%d rows: %d came: %v", n, len(rows), err)
		}
	}
}
