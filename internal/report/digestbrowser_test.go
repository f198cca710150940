package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
)

// TestDigestInBrowser opens the pages in a real browser: nothing is refused, logged or asked of the network, nothing is
// wider than the window, no text of a picture leaves it.
func TestDigestInBrowser(t *testing.T) {
	b := startBrowser(t)
	dir := t.TempDir()
	pages := map[string]string{
		"digest": digestIn(t, "html", digestSample(), digestOptions), "empty": digestIn(t, "html",
			&digest.Report{}, digestOptions),
		"hostile0": digestIn(t, "html", hostileDigest(0), digestOptions), "hostile4": digestIn(t, "html",
			hostileDigest(4), digestOptions),
		"comparison": comparisonIn(t, "html", comparedSample()),
	}
	for name, page := range pages {
		file := filepath.Join(dir, name+".html")
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{1100, 400} {
			for _, dark := range []bool{false, true} {
				b.open(file, width, dark)
				var got struct {
					Over    int // pixels that the page is wider than its window
					Images  int
					Scripts int
					Clipped []string
					Back    string
				}
				b.eval(`(() => {
					const clipped = [];
					for (const s of document.querySelectorAll("svg.chart")) {
						const box = s.getBoundingClientRect();
						for (const t of s.querySelectorAll("text")) {
							const r = t.getBoundingClientRect();
							if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1) clipped.push(t.textContent);
						}
					}
					const root = document.documentElement;
					return {Over: root.scrollWidth - root.clientWidth, Images: document.images.length, Scripts: document.scripts.length,
						Clipped: clipped, Back: getComputedStyle(document.body).backgroundColor};
				})()`, &got)
				if got.Over > 0 || got.Images != 0 || got.Scripts != 0 || len(got.Clipped) > 0 {
					t.Errorf("%s at %d: %+v", name, width, got)
				}
				if light := got.Back == "rgb(246, 247, 249)"; light == dark {
					t.Errorf("%s at %d: background %s", name, width, got.Back)
				}
				if c := b.complaints(); len(c) > 0 {
					t.Errorf("%s at %d: %s", name, width, strings.Join(c, "\n"))
				}
			}
		}
	}
}
