package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Size makes the window so large, in pixels.
func (b *Tab) Size(width, height int64) {
	b.t.Helper()
	b.do("set the size", emulation.SetDeviceMetricsOverride(width, height, 1, false))
}

// The windows that pages are looked at in.
func (b *Tab) Laptop() { b.t.Helper(); b.Size(1280, 800) }
func (b *Tab) Wide()   { b.t.Helper(); b.Size(1920, 1080) }
func (b *Tab) Phone()  { b.t.Helper(); b.Size(400, 800) }

// Dark makes the person's system dark.
func (b *Tab) Dark() { b.t.Helper(); b.scheme("dark") }

// Light makes it light.
func (b *Tab) Light() { b.t.Helper(); b.scheme("light") }

func (b *Tab) scheme(s string) {
	b.t.Helper()
	b.do("set the theme", emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: s},
	}))
}

// Paper shows the page as it is printed, on a sheet of A4.
func (b *Tab) Paper() {
	b.t.Helper()
	b.Size(794, 1123)
	b.do("set the medium", emulation.SetEmulatedMedia().WithMedia("print"))
}

// Shot keeps a picture of the window as NAME.png and returns its path.
func (b *Tab) Shot(name string) string {
	b.t.Helper()
	var png []byte
	b.do("take a picture", chromedp.CaptureScreenshot(&png))
	return b.write(name, png)
}

// ShotAll keeps a picture of the whole page, also of what is scrolled out of the window.
func (b *Tab) ShotAll(name string) string {
	b.t.Helper()
	var png []byte
	b.do("take a picture", chromedp.ActionFunc(func(ctx context.Context) error {
		var err error
		png, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).WithCaptureBeyondViewport(true).
			WithFromSurface(true).Do(ctx)
		return err
	}))
	return b.write(name, png)
}

// Axe fails the test for everything of serious or critical impact that axe-core finds in the page as it is; css, if
// given, are the parts that are looked at.
func (b *Tab) Axe(css ...string) {
	b.t.Helper()
	for _, v := range b.Violations(css...) {
		b.t.Errorf("%s: axe: %s", b.URL(), v)
	}
}

// Violations returns what axe-core finds of serious or critical impact, one line each.
func (b *Tab) Violations(css ...string) []string {
	b.t.Helper()
	source, err := os.ReadFile(axeFile())
	if err != nil {
		b.t.Fatalf("read axe-core (npm ci in ui fetches it): %v", err)
	}
	var root any = "document"
	if len(css) > 0 {
		root = css
	}
	raw, err := json.Marshal(root)
	if err != nil {
		b.t.Fatal(err)
	}
	where := string(raw)
	if len(css) == 0 {
		where = "document"
	}
	var found []struct {
		ID, Impact, Help string
		Nodes            []struct {
			HTML           string
			FailureSummary string
		}
	}
	b.do("run axe", chromedp.ActionFunc(func(ctx context.Context) error {
		var frame cdp.FrameID
		tree, err := page.GetFrameTree().Do(ctx)
		if err != nil {
			return err
		}
		frame = tree.Frame.ID
		// A world of its own: the page's objects stay as they are, and its policy does not forbid the script.
		var world runtime.ExecutionContextID
		if world, err = page.CreateIsolatedWorld(frame).WithWorldName("axe").Do(ctx); err != nil {
			return err
		}
		if err := evaluate(string(source)+";0", world, nil).Do(ctx); err != nil {
			return fmt.Errorf("load axe: %w", err)
		}
		return evaluate(`axe.run(`+where+`, {resultTypes: ['violations']}).then((r) => r.violations
			.filter((v) => v.impact === 'serious' || v.impact === 'critical')
			.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.map((n) => ({HTML: n.html, FailureSummary: n.failureSummary}))})))`, world, &found).Do(ctx)
	}))
	var all []string
	for _, v := range found {
		for i, n := range v.Nodes {
			if i == 3 {
				all = append(all, fmt.Sprintf("%s %s: %d more", v.Impact, v.ID, len(v.Nodes)-i))
				break
			}
			all = append(all, fmt.Sprintf("%s %s: %s: %s (%s)", v.Impact, v.ID, v.Help, short(n.HTML, 300),
				strings.Join(strings.Fields(n.FailureSummary), " ")))
		}
	}
	return all
}

// axeFile is axe-core among the packages of the page.
func axeFile() string {
	dir, err := os.Getwd()
	for err == nil && dir != "/" {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "ui/node_modules/axe-core/axe.min.js")
}

// ThreadSeconds is the CPU time that the tab's main thread has used, in seconds.
func (b *Tab) ThreadSeconds() (s float64) {
	b.t.Helper()
	b.do("read the time of the thread", performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks),
		chromedp.ActionFunc(func(ctx context.Context) error {
			all, err := performance.GetMetrics().Do(ctx)
			for _, m := range all {
				if m.Name == "TaskDuration" {
					s = m.Value
				}
			}
			return err
		}))
	return s
}

// Sideways returns by how many pixels the page is wider than its window: 0 is good.
func (b *Tab) Sideways() int {
	b.t.Helper()
	var n int
	b.Eval(
		`Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - document.documentElement.clientWidth`, &n)
	return max(0, n)
}
