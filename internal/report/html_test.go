package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/stat"
)

// TestInBrowser opens pages in a real browser, wide and as narrow as a phone, light and dark: nothing is refused by the
// page's own policy, logged or asked of the network, nothing is wider than the window, every chart is there once, no
// text of a chart leaves it, and the script works.
func TestInBrowser(t *testing.T) {
	b := startBrowser(t)
	dir := t.TempDir()
	for _, x := range []struct {
		name   string
		d      *report.Document
		charts int
	}{
		{"demo", sample(), 5},
		{"diagnosis", diagnosis(), 2},
		{"run", loadRun(), 2},
		{"worse", bad(stat.Worse), 1},
		{"hostile0", hostileDocument(0), 5},
		{"hostile4", hostileDocument(4), 5},
		{"empty", &report.Document{}, 0},
	} {
		file := filepath.Join(dir, x.name+".html")
		if err := os.WriteFile(file, []byte(html(t, x.d)), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{1100, 400} {
			for _, dark := range []bool{false, true} {
				b.open(file, width, dark)
				var got struct {
					Over    int // pixels that the page is wider than its window
					Charts  int
					Images  int
					Scripts int
					Clipped []string
					Back    string
				}
				b.eval(`(() => {
					const shown = [...document.querySelectorAll("svg.chart")].filter(e => e.getClientRects().length);
					const clipped = [];
					for (const s of shown) {
						const box = s.getBoundingClientRect();
						for (const t of s.querySelectorAll("text")) {
							const r = t.getBoundingClientRect();
							if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) clipped.push(t.textContent);
						}
					}
					const root = document.documentElement;
					return {Over: root.scrollWidth - root.clientWidth, Charts: shown.length, Images: document.images.length, Scripts: document.scripts.length,
						Clipped: clipped, Back: getComputedStyle(document.body).backgroundColor};
				})()`, &got)
				where := func() string { return x.name + map[bool]string{true: ", dark", false: ""}[dark] }
				if got.Over > 0 || got.Charts != x.charts || got.Images != 0 || got.Scripts != 1 {
					t.Errorf("%s at %d: %+v, want %d charts", where(), width, got, x.charts)
				}
				if len(got.Clipped) > 0 {
					t.Errorf("%s at %d: texts leave their chart: %q", where(), width, got.Clipped)
				}
				if light := got.Back == "rgb(246, 247, 249)"; light == dark {
					t.Errorf("%s at %d: background %s", where(), width, got.Back)
				}
				if c := b.complaints(); len(c) > 0 {
					t.Errorf("%s at %d: %s", where(), width, strings.Join(c, "\n"))
				}
			}
		}
	}

	// The cursor: the last reading by keyboard, the first by pointer.
	b.open(filepath.Join(dir, "demo.html"), 1100, false)
	var last, first string
	b.eval(
		`(() => { const s = document.querySelector("svg.chart.wide"); s.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft"}));
		return document.querySelector(".readout").textContent; })()`, &last)
	b.eval(`(() => { const s = document.querySelector("svg.chart.wide"), r = s.getBoundingClientRect();
		s.dispatchEvent(new PointerEvent("pointermove", {clientX: r.left + 5, clientY: r.top + 50}));
		return document.querySelector(".readout").textContent; })()`, &first)
	if !strings.HasPrefix(last, "+96.0 s   operations ") || !strings.HasPrefix(first, "+1.0 s   operations ") ||
		!strings.HasSuffix(first, " operations/s") {
		t.Errorf("the cursor shows %q and %q", last, first)
	}
	if c := b.complaints(); len(c) > 0 {
		t.Errorf("the cursor: %s", strings.Join(c, "\n"))
	}
}
