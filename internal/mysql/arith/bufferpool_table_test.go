package arith

import (
	"bytes"
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// start is a pool at a server's start, with the sizes that it is given afterwards while it runs, one after the other.
type start struct {
	size      uint64
	instances int
	chunk     uint64
	live      []uint64
}

// starts are combinations of size, instances and chunk, each of them growing and shrinking; with the starts themselves
// more than thirty. Servers take memory as they touch it, so that large pools cost address space.
func starts() []start {
	return []start{
		{1024 * mib, 1, 128 * mib, []uint64{1100 * mib, 1536*mib + 1, 700 * mib, 200 * mib, 130 * mib}},
		{1500 * mib, 4, 64 * mib, []uint64{1025 * mib, 2000 * mib, 1900 * mib, 900 * mib, 1024 * mib}},
		{2049 * mib, 8, 128 * mib, []uint64{1 * gib, 3 * gib, 2500 * mib, 1023 * mib, 1280 * mib}},
		{1200 * mib, 16, 7 * mib, []uint64{1232 * mib, 1233 * mib, 2 * gib, 1025 * mib, 1121 * mib}},
		{777 * mib, 3, 32 * mib, []uint64{300 * mib, 801 * mib, 2 * gib, 33 * mib, 1}},
		{2 * gib, 2, 1 * mib, []uint64{1025 * mib, 3*gib - 1, 1999 * mib, 1 * gib, 2047 * mib}},
	}
}

// poolTable sets the arithmetic beside running servers of one build: launch starts one with options and returns a way
// to ask it. It returns the table of all combinations.
func poolTable(t *testing.T, launch func(t *testing.T, settings ...string) *sql.DB) string {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "server\thow\tasked for\tinstances\tchunk\tthe server has\tthe arithmetic says")
	n := 0
	for _, x := range starts() {
		t.Run(fmt.Sprintf("%d-%d-%d", x.size/mib, x.instances, x.chunk/mib), func(t *testing.T) {
			db := launch(t, fmt.Sprintf("innodb-buffer-pool-size=%d", x.size),
				fmt.Sprintf("innodb-buffer-pool-instances=%d", x.instances),
				fmt.Sprintf("innodb-buffer-pool-chunk-size=%d", x.chunk))
			var version string
			var got Pool
			read := func() {
				t.Helper()
				if err := db.QueryRow("SELECT VERSION(), @@innodb_buffer_pool_size, @@innodb_buffer_pool_instances, "+
					"@@innodb_buffer_pool_chunk_size").
					Scan(&version, &got.Size, &got.Instances, &got.Chunk); err != nil {
					t.Fatal(err)
				}
			}
			read()
			want, err := BufferPool("mysql", version, Ask{
				Size: x.size, Instances: x.instances, Chunk: x.chunk,
				CPUs: runtime.NumCPU(),
			})
			if err != nil {
				t.Fatal(err)
			}
			row := func(how string, asked uint64) bool {
				n++
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", version, how, size(asked), got.Instances,
					size(got.Chunk), size(got.Size), size(want.Size))
				return got.Size == want.Size && got.Instances == want.Instances && got.Chunk == want.Chunk
			}
			if !row("start", x.size) {
				t.Fatalf("start with %+v: the server has %+v, the arithmetic says %+v", x, got, want)
			}
			for _, to := range x.live {
				how := "grow"
				if to < got.Size {
					how = "shrink"
				}
				if want, err = Resize("mysql", version, want, to); err != nil {
					t.Fatal(err)
				}
				for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
					// Again and again: while an earlier change is under way the server answers with a warning and does
					// nothing.
					if _, err := db.Exec(fmt.Sprintf("SET GLOBAL innodb_buffer_pool_size = %d", to)); err != nil &&
						!strings.Contains(err.Error(), "resize") {
						t.Fatal(err)
					}
					if read(); got.Size == want.Size || time.Now().After(end) {
						break
					}
				}
				if !row(how, to) {
					t.Errorf("set to %d: the server has %+v, the arithmetic says %+v", to, got, want)
				}
			}
		})
	}
	w.Flush()
	if n < 30 && !t.Failed() {
		t.Errorf("only %d combinations were tried", n)
	}
	return out.String()
}
