package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Patience is how long a tab waits for what a test asks of it: a look at a server with its judgement, a change with its
// verification, on machines that may be slow and busy. Only a test that fails ever waits so long.
const Patience = 2 * time.Minute

// Tab is a page in the browser that belongs to one test. Its methods fail the test when something does not happen in
// time, and then tell where the tab is, what it shows and what it complained of, and keep a picture.
type Tab struct {
	t       testing.TB
	browser *Browser
	person  cdp.BrowserContextID
	ctx     context.Context
	base    *url.URL
	shown   bool // a picture of the failure was taken

	mu       sync.Mutex
	console  []string // everything, oldest first
	bad      []string // what fails the test
	allowed  []*regexp.Regexp
	requests []string // URLs, oldest first
	foreign  []string
	flying   map[network.RequestID]bool // requests without an answer, but for the stream of events
}

// Tab opens a tab of a new person, 1280 by 800, light, that is closed with the test. Paths that it opens are those of
// base, and base is the only host it may ask anything.
func (b *Browser) Tab(t testing.TB, base string) *Tab {
	t.Helper()
	var person cdp.BrowserContextID
	err := b.ask(func(ctx context.Context) (err error) {
		person, err = target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx)
		return err
	})
	if err != nil {
		t.Fatalf("make a new person: %v", err)
	}
	t.Cleanup(func() { // after its tabs are closed
		_ = b.ask(func(ctx context.Context) error { return target.DisposeBrowserContext(person).Do(ctx) })
	})
	return b.tab(t, person, base)
}

// ask runs a command of the browser itself.
func (b *Browser) ask(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	return f(cdp.WithExecutor(ctx, chromedp.FromContext(b.ctx).Browser))
}

// Beside opens another tab of the same person.
func (b *Tab) Beside() *Tab {
	b.t.Helper()
	return b.browser.tab(b.t, b.person, b.base.String())
}

func (b *Browser) tab(t testing.TB, person cdp.BrowserContextID, base string) *Tab {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var id target.ID
	if err := b.ask(func(ctx context.Context) (err error) { // in a window of its own: a new person has none
		id, err = target.CreateTarget("about:blank").WithBrowserContextID(person).WithNewWindow(true).Do(ctx)
		return err
	}); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))
	x := &Tab{t: t, browser: b, person: person, ctx: ctx, base: u, flying: map[network.RequestID]bool{}}
	chromedp.ListenTarget(ctx, x.hear)
	t.Cleanup(func() {
		if t.Failed() {
			x.keep()
		}
		end()
		x.mu.Lock()
		defer x.mu.Unlock()
		said := map[string]bool{}
		for _, c := range x.bad {
			if said[c] = true; len(said) > 6 {
				break
			}
		}
		for _, c := range slices.Sorted(maps.Keys(said)) {
			t.Errorf("the page complains: %s", short(c, 1000))
		}
		if len(x.foreign) > 0 {
			t.Errorf("the page asked other hosts for %s", strings.Join(x.foreign, ", "))
		}
	})
	if err := chromedp.Run(ctx); err != nil { // no limit of time here: the first Run's context is the tab's
		t.Fatalf("open a tab: %v", err)
	}
	x.do("prepare the tab", dom.Disable(), css.Disable(), // nobody looks at them, and they cost the browser
		emulation.SetFocusEmulationEnabled(true)) // seen and in focus, though other tabs are too
	x.Size(1280, 800)
	x.Light()
	return x
}

// hear notes what happens in the tab.
func (b *Tab) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, a := range ev.Args {
			switch {
			case a.Description != "":
				words = append(words, a.Description)
			default:
				words = append(words, string(a.Value))
			}
		}
		b.note(ev.Type == runtime.APITypeError || ev.Type == runtime.APITypeAssert, "console.%s: %s", ev.Type,
			strings.Join(words, " "))
	case *runtime.EventExceptionThrown:
		b.note(true, "uncaught: %s", ev.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		b.note(ev.Entry.Level == log.LevelError, "%s: %s %s", ev.Entry.Source, ev.Entry.Text, ev.Entry.URL)
	case *page.EventJavascriptDialogOpening:
		if ev.Type != page.DialogTypeBeforeunload {
			b.note(true, "a dialog opens: %s %q", ev.Type, ev.Message)
		}
		go func() { // not from here: events are told one after the other
			ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
			defer cancel()
			_ = chromedp.Run(ctx, page.HandleJavaScriptDialog(true))
		}()
	case *network.EventRequestWillBeSent:
		b.asked(ev.Request.URL)
		if ev.Type != network.ResourceTypeEventSource {
			b.flying[ev.RequestID] = true
		}
	case *network.EventLoadingFinished:
		delete(b.flying, ev.RequestID)
	case *network.EventLoadingFailed:
		delete(b.flying, ev.RequestID)
	case *page.EventFrameNavigated:
		if ev.Frame.ParentID == "" { // what the page before had asked for is nobody's
			clear(b.flying)
		}
	case *network.EventWebSocketCreated:
		b.asked(ev.URL)
	}
}

func (b *Tab) note(bad bool, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	b.console = append(b.console, line)
	if len(b.console) > 1000 {
		b.console = b.console[500:]
	}
	if bad {
		for _, re := range b.allowed {
			if re.MatchString(line) {
				return
			}
		}
		b.bad = append(b.bad, line)
	}
}

func (b *Tab) asked(raw string) {
	if strings.HasPrefix(raw, "data:") || strings.HasPrefix(raw, "blob:") || strings.HasPrefix(raw, "about:") {
		return
	}
	b.requests = append(b.requests, raw)
	if len(b.requests) > 10000 {
		b.requests = b.requests[5000:]
	}
	if u, err := url.Parse(raw); err != nil || u.Host != b.base.Host {
		b.foreign = append(b.foreign, raw)
	}
}

// Allow lets complaints pass that match a regular expression, also earlier ones: of a page that is asked for something
// that is not there, a browser itself says so on the console.
func (b *Tab) Allow(expr string) {
	b.t.Helper()
	re, err := regexp.Compile(expr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = append(b.allowed, re)
	kept := b.bad[:0]
	for _, line := range b.bad {
		if !re.MatchString(line) {
			kept = append(kept, line)
		}
	}
	b.bad = kept
}

// Console returns what the page said on the console, oldest first.
func (b *Tab) Console() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.console...)
}

// Requests returns the paths with query that the tab asked its own host for, oldest first.
func (b *Tab) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, r := range b.requests {
		if u, err := url.Parse(r); err == nil {
			all = append(all, u.RequestURI())
		}
	}
	return all
}

// do runs commands of the browser's protocol.
func (b *Tab) do(what string, actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.Fail("%s: %v", what, err)
	}
}

// Do runs commands of the browser's protocol, for what this package has no words for.
func (b *Tab) Do(actions ...chromedp.Action) {
	b.t.Helper()
	b.do("ask the browser", actions...)
}

// try evaluates a script and decodes its value, a promise's too.
func (b *Tab) try(script string, value any) error {
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	return chromedp.Run(ctx, evaluate(script, 0, value))
}

func evaluate(script string, world runtime.ExecutionContextID, value any) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		p := runtime.Evaluate(script).WithReturnByValue(true).WithAwaitPromise(true)
		if world != 0 {
			p = p.WithContextID(world)
		}
		r, thrown, err := p.Do(ctx)
		switch {
		case err != nil:
			return err
		case thrown != nil:
			return thrown
		case value == nil:
			return nil
		case r.Type == runtime.TypeUndefined:
			return fmt.Errorf("it is undefined")
		}
		return json.Unmarshal(r.Value, value)
	})
}

// Eval evaluates a script in the page and decodes its value into value, which may be nil. A promise is waited for.
func (b *Tab) Eval(script string, value any) {
	b.t.Helper()
	if err := b.try(script, value); err != nil {
		b.Fail("evaluate %s: %v", short(script, 300), err)
	}
}

// call writes a call of a function of JavaScript with values as arguments.
func call(function string, args ...any) string {
	var out []string
	for _, a := range args {
		raw, err := json.Marshal(a)
		if err != nil {
			panic(err) // strings and numbers only
		}
		out = append(out, string(raw))
	}
	return "(" + function + ")(" + strings.Join(out, ",") + ")"
}

// Until asks again and again until ok returns nil.
func (b *Tab) Until(what string, ok func() error) {
	b.t.Helper()
	end := time.Now().Add(Patience)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			b.Fail("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Fail fails the test and tells what the tab shows.
func (b *Tab) Fail(format string, args ...any) {
	b.t.Helper()
	b.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), b.keep())
}

// keep takes a picture of a failure, once, and returns a description of the tab.
func (b *Tab) keep() string {
	if b.shown {
		return ""
	}
	b.shown = true
	var sb strings.Builder
	var seen struct{ URL, Title, Text string }
	if err := b.try(`({URL: location.href, Title: document.title, Text: document.body ? document.body.innerText : ""})`,
		&seen); err != nil {
		fmt.Fprintf(&sb, "the tab does not answer: %v\n", err)
	} else {
		fmt.Fprintf(&sb, "at %s %q it shows:\n%s\n", seen.URL, seen.Title, short(strings.TrimSpace(seen.Text), 3000))
	}
	said := b.Console()
	fmt.Fprintf(&sb, "console: %s\n", strings.Join(said[max(0, len(said)-20):], "\n\t"))
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	var png []byte
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)); err == nil {
		fmt.Fprintf(&sb, "picture: %s\n", b.write("failed-"+b.t.Name(), png))
	}
	b.t.Log(sb.String())
	return ""
}

func (b *Tab) write(name string, png []byte) string {
	path := filepath.Join(b.browser.shots, regexp.MustCompile(`[^A-Za-z0-9_.-]+`).ReplaceAllString(name, "-")+".png")
	if err := os.WriteFile(path, png, 0o600); err != nil {
		b.t.Errorf("keep a picture: %v", err)
	}
	return path
}

func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
