// Package browser gives tests a real Chromium: one process for all tests of a package, in which every tab is a person
// of its own, with cookies and storage that no other tab sees.
//
// What a page complains of (errors on the console, uncaught exceptions, dialogs, requests to other hosts) fails the
// test that opened it.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"

	"github.com/dyno-perf/dyno/internal/userfile"
)

// Browser is a running Chromium.
type Browser struct {
	ctx   context.Context
	close func() error
	shots string
}

// Start starts Chromium without a window. The caller closes it.
//
// Screenshots go to the folder that DYNO_TEST_SHOTS names, else to a folder of this user among the temporary files.
func Start() (*Browser, error) {
	bin := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			bin = p
			break
		}
	}
	if bin == "" {
		return nil, errors.New("find a browser: no chromium on this machine; Debian's package is called chromium")
	}
	shots := os.Getenv("DYNO_TEST_SHOTS")
	if shots == "" {
		shots = filepath.Join(os.TempDir(), fmt.Sprintf("dyno-test-shots-%d", os.Getuid()))
		if err := userfile.OwnDir(shots); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(shots, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "dyno-browser-")
	if err != nil {
		return nil, err
	}
	alloc, endAlloc := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(bin), chromedp.UserDataDir(dir), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("headless", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		// Tabs that are not in front run as if they were: tests share the browser.
		chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("disable-renderer-backgrounding", true), chromedp.Flag("disable-features", "Translate"),
		chromedp.Flag("enable-precise-memory-info", true), chromedp.WSURLReadTimeout(time.Minute))
	ctx, end := chromedp.NewContext(alloc)
	b := &Browser{ctx: ctx, shots: shots, close: func() error {
		end()
		endAlloc()
		var err error
		for range 50 { // its children write a moment longer
			if err = os.RemoveAll(dir); err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		return err
	}}
	// The kernel ends the browser with the thread that started it, and threads end: those on which a test is another
	// account do.
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- chromedp.Run(ctx)
		<-ctx.Done()
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// Close ends the browser and all its tabs.
func (b *Browser) Close() error { return b.close() }

// Ended reports whether the browser has ended, by itself or by Close.
func (b *Browser) Ended() bool { return b.ctx.Err() != nil }

// PID is the process of the browser; those of its tabs are its descendants.
func (b *Browser) PID() int { return chromedp.FromContext(b.ctx).Browser.Process().Pid }

// Process is a process of the browser: Type is "browser", "renderer", "GPU", "utility" and so on.
type Process struct {
	Type string
	PID  int
}

// Processes returns the processes that the browser consists of now.
func (b *Browser) Processes() (all []Process, err error) {
	err = b.ask(func(ctx context.Context) error {
		got, err := systeminfo.GetProcessInfo().Do(ctx)
		for _, p := range got {
			all = append(all, Process{p.Type, int(p.ID)})
		}
		return err
	})
	return all, err
}
