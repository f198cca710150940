package page

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/test/browser"
)

// indexes returns the names of the secondary indexes of a table.
func (s *Stage) indexes(t *testing.T, table string) (names []string) {
	t.Helper()
	rows, err := s.DB.Query("SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = "+
		"'shop' AND TABLE_NAME = ? AND INDEX_NAME <> 'PRIMARY'", table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		names = append(names, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// post sends a change to the API and returns the status and the answer.
func (s *Stage) post(t *testing.T, path string, body any) (int, string) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(s.URL+"/api/dyno/v1/"+path, "application/json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(r.Body); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, out.String()
}

// TestChanges goes round the loop on the page: a finding's change is previewed, carried out, proven and taken back;
// what the page says at each step is held to what the server shows.
func TestChanges(t *testing.T) {
	s := stage(t)
	calls := s.parcels(t, "crates")
	b := s.Browser(t)
	f := s.diagnosed(t, "crates", calls)
	visit(b, "/findings?target=shop&finding="+f.ID)

	// A preview changes nothing.
	b.ClickText("Preview and apply…")
	b.Wait("Undo statement")
	b.WaitText("dialog .sql-text", "`crates`")
	if got := s.indexes(t, "crates"); len(got) != 0 {
		t.Fatalf("the preview left %v", got)
	}
	if code, text := s.post(t, "apply", map[string]any{
		"target": "shop", "finding": f.ID, "execute": true,
		"confirm": "ALTER TABLE crates DROP PRIMARY KEY",
	}); code != http.StatusConflict {
		t.Fatalf("another statement than the one shown is answered with %d %s", code, text)
	}
	shots(b, "changes-preview", "dialog")

	// Without its word it is not done.
	do := "dialog .dialog-foot button:last-of-type"
	if b.Attr(do, "aria-disabled") != "true" {
		t.Fatal("it can be done without the word")
	}
	b.Fill("dialog .act-type input", "crate")
	b.Click(do)
	if got := s.indexes(t, "crates"); len(got) != 0 {
		t.Fatalf("the wrong word left %v", got)
	}
	b.Fill("dialog .act-type input", "crates")
	b.Click(do)
	b.Wait("dialog .task")
	b.Wait("Done and verified on the server")
	b.Shot("changes-applied")
	if got := s.indexes(t, "crates"); len(got) != 1 || got[0] != f.Action.Index.Name {
		t.Fatalf("the server has %v, want %s", got, f.Action.Index.Name)
	}

	// The journal has it, with who asked for it.
	b.ClickText("Open in Changes")
	b.WaitURL("/changes")
	id := b.Param("id")
	b.WaitText(".entry .badge", "In effect")
	b.Wait("requested by local, in the web UI")
	var e journal.Entry
	s.Get("change?id="+id, &e)
	if e.State != journal.Done || e.Finding != f.ID {
		t.Fatalf("%+v", e)
	}
	if !strings.Contains(strings.Join(b.Texts(".entry .sql-text"), "\n"), e.Action.Undo) {
		t.Errorf("the way back %q is not shown", e.Action.Undo)
	}

	// The proof is the program's own, of as many calls as the finding's; a machine that let too few of them run is
	// asked again.
	var d struct {
		Proofs []struct{ ID, Sentence string }
	}
	for button := "Prove it"; ; button = "Measure again" {
		before, n := calls.Load(), len(d.Proofs)
		b.ClickText(button)
		b.Wait(".proof [role=progressbar]")
		eventually(t, "the proof", func() error {
			if s.Get("change?id="+id, &d); len(d.Proofs) == n {
				return errNotYet
			}
			return nil
		})
		b.WaitGone(".proof [role=progressbar]")
		if seen := calls.Load() - before; seen >= enough || len(d.Proofs) == 5 {
			t.Logf("%d calls ran while it was looked at", seen)
			break
		}
	}
	if d.Proofs[0].Sentence == "" {
		t.Fatalf("%+v", d)
	}
	b.WaitText(".proof-verdict", d.Proofs[0].Sentence)
	b.WaitText(".proof-verdict .badge", "Faster")
	if text := s.Dyno("report", d.Proofs[0].ID, "--format", "md"); !strings.Contains(text, d.Proofs[0].Sentence) {
		t.Errorf("the report does not say %q", d.Proofs[0].Sentence)
	}
	b.Settle()
	shots(b, "changes", "main")

	// The report is a page without rights.
	r, err := http.Get(s.URL + "/api/dyno/v1/report.html?id=" + d.Proofs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if csp := r.Header.Get("Content-Security-Policy"); r.StatusCode != 200 ||
		!strings.Contains(csp, "sandbox allow-scripts") || strings.Contains(csp, "unsafe") {
		t.Errorf("%s %q", r.Status, csp)
	}
	p := b.Beside()
	p.Open("/api/dyno/v1/report.html?id=" + d.Proofs[0].ID)
	p.Wait(d.Proofs[0].Sentence)
	p.Shot("changes-report")

	// And back again.
	b.ClickText("Undo…")
	b.WaitText("dialog .sql-text", "DROP INDEX")
	if got := s.indexes(t, "crates"); len(got) != 1 {
		t.Fatalf("the preview of the undo left %v", got)
	}
	b.Fill("dialog .act-type input", "crates")
	b.Click(do)
	b.Wait("Done and verified on the server")
	if got := s.indexes(t, "crates"); len(got) != 0 {
		t.Fatalf("after the undo the server has %v", got)
	}
	b.Click("dialog .dialog-foot button")
	b.WaitText(".entry .badge", "Undone")
	s.Get("change?id="+id, &e)
	if e.State != journal.Undone {
		t.Fatalf("%+v", e)
	}
}

// TestTwoApply has two people look at the same change and do it one after the other: the second is told why it is not
// done once more.
func TestTwoApply(t *testing.T) {
	s := stage(t)
	f := s.diagnosed(t, "barrels", s.parcels(t, "barrels"))
	one, two := s.Browser(t), s.Browser(t)
	for _, b := range []*browser.Tab{one, two} {
		visit(b, "/findings?target=shop&finding="+f.ID)
		b.ClickText("Preview and apply…")
		b.Wait("Undo statement")
		b.Fill("dialog .act-type input", "barrels")
	}
	do := "dialog .dialog-foot button:last-of-type"
	one.Click(do)
	one.Wait("Done and verified on the server")
	refusals(two, "409", "apply$")
	two.Click(do)
	two.WaitText("dialog", "the index "+f.Action.Index.Name+" already serves the same purpose")
	two.WaitGone("dialog .act-type") // nor is it offered again
	two.Axe("dialog")
	two.Shot("changes-second")
	if got := s.indexes(t, "barrels"); len(got) != 1 {
		t.Errorf("the server has %v", got)
	}
	var all struct {
		Changes []struct{ Finding string }
	}
	s.Get("changes?target=shop", &all)
	n := 0
	for _, c := range all.Changes {
		if c.Finding == f.ID {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the journal has %d entries about it", n)
	}
}

// TestNoChange: an action that is not there is told with a way back.
func TestNoChange(t *testing.T) {
	s := stage(t)
	b := s.Browser(t)
	refusals(b, "404", `change\?id=a-000000$`)
	visit(b, "/changes?id=a-000000")
	b.Wait("Action a-000000")
	b.ClickText("Back to the journal")
	b.WaitGone("Action a-000000")
}
