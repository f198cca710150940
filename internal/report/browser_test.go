package report_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// browser is a real Chromium, driven over its debugging pipe: messages are JSON, each ended by a zero byte
// (https://chromedevtools.github.io/devtools-protocol/).
type browser struct {
	t       *testing.T
	out     *os.File
	replies chan message
	id      int
	session string
	events  []message
}

type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

const browserWait = 60 * time.Second

// startBrowser starts Chromium with one empty page; the test is skipped where there is none, unless DYNO_TEST_BROWSER
// asks for it.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	var bin string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			bin = p
			break
		}
	}
	if bin == "" {
		if os.Getenv("DYNO_TEST_BROWSER") != "" {
			t.Fatal("DYNO_TEST_BROWSER is set but there is no chromium")
		}
		t.Skip("no chromium on this machine")
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{inR, outW} // 3 and 4 in the child
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	b := &browser{t: t, out: inW, replies: make(chan message, 1024)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(b.replies)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(line[:len(line)-1], &m) == nil {
				b.replies <- m
			}
		}
	}()
	t.Cleanup(func() {
		inW.Close() // Chromium ends when its pipe does
		timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		go func() {
			for range b.replies { // nobody reads any more
			}
		}()
		_ = cmd.Wait()
		timer.Stop()
		<-done
		outR.Close()
	})
	var made struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call sends one command and decodes its answer; what happens meanwhile is kept in events.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	m := map[string]any{"id": b.id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	raw, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.out.Write(append(raw, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	id := b.id
	r := b.next(method, func(m message) bool { return m.ID == id })
	if r.Error != nil {
		b.t.Fatalf("%s: %s", method, r.Error)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result, result); err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
	}
}

func (b *browser) next(what string, want func(message) bool) message {
	b.t.Helper()
	timeout := time.After(browserWait)
	for {
		select {
		case m, ok := <-b.replies:
			if !ok {
				b.t.Fatalf("%s: chromium ended", what)
			}
			if m.ID == 0 {
				b.events = append(b.events, m)
			}
			if want(m) {
				return m
			}
		case <-timeout:
			b.t.Fatalf("%s: no answer in %v", what, browserWait)
		}
	}
}

// open loads a file in a window of the given width, dark or light, and waits until it is there.
func (b *browser) open(file string, width int, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": 900,
		"deviceScaleFactor": 1, "mobile": false,
	}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{
		"name":  "prefers-color-scheme",
		"value": scheme,
	}}}, nil)
	b.events = nil
	loaded := func(m message) bool { return m.Method == "Page.loadEventFired" }
	b.call("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	for _, e := range b.events {
		if loaded(e) {
			return
		}
	}
	b.next("load "+file, loaded)
}

// eval runs a script in the page and decodes its value.
func (b *browser) eval(script string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", script, r.ExceptionDetails)
	}
	if value != nil {
		if err := json.Unmarshal(r.Result.Value, value); err != nil {
			b.t.Fatalf("%s: %v in %s", script, err, r.Result.Value)
		}
	}
}

// complaints returns what the page logged, threw or asked of the network since it was opened.
func (b *browser) complaints() (out []string) {
	for _, e := range b.events {
		switch e.Method {
		case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening":
			out = append(out, fmt.Sprintf("%s %s", e.Method, e.Params))
		case "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			if json.Unmarshal(e.Params, &p) == nil && !strings.HasPrefix(p.Request.URL, "file://") {
				out = append(out, "asks for "+p.Request.URL)
			}
		}
	}
	return out
}
