package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSelfSigned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	now := time.Now()
	f := func(at time.Time, names ...string) string {
		t.Helper()
		c, print, err := SelfSigned(dir, names, at)
		good(t, err)
		pair, err := c.GetCertificate(nil)
		good(t, err)
		for _, n := range names {
			good(t, pair.Leaf.VerifyHostname(n))
		}
		if len(print) != 32*3-1 || c.MinVersion != tls.VersionTLS12 ||
			pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore) > 398*24*time.Hour {
			t.Fatalf("%s, %v to %v", print, pair.Leaf.NotBefore, pair.Leaf.NotAfter)
		}
		return print
	}
	one := f(now, "localhost", "127.0.0.1")
	if f(now.Add(time.Hour), "localhost") != one {
		t.Error("a certificate that will do was made anew: who trusted it must look again")
	}
	two := f(now, "localhost", "dyno.example.org", "2001:db8::1")
	if two == one {
		t.Error("the certificate lacks a name")
	}
	if f(now.Add(selfLife-24*time.Hour), "localhost") == two {
		t.Error("a certificate that is about to end is kept")
	}
	for name, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "self.key"): 0o600} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	good(t, os.WriteFile(filepath.Join(dir, "self.key"), []byte("garbage"), 0o600))
	if _, _, err := SelfSigned(dir, nil, now); err == nil || !strings.Contains(err.Error(), "remove "+dir) {
		t.Errorf("got %v", err)
	}
	good(t, os.Remove(filepath.Join(dir, "self.key")))
	f(now, "localhost")
}

func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	_, _, err := SelfSigned(dir, []string{"one.example"}, time.Now())
	good(t, err)
	cert, key := filepath.Join(dir, "self.crt"), filepath.Join(dir, "self.key")
	c, err := Certificate(cert, key, nil)
	good(t, err)
	if pair, err := c.GetCertificate(nil); err != nil || pair.Leaf.DNSNames[0] != "one.example" ||
		c.MinVersion != tls.VersionTLS12 {
		t.Fatal(pair, err)
	}
	for _, no := range [][2]string{{cert, cert}, {key, key}, {"/nonexistent", key}, {os.DevNull, key}} {
		if _, err := Certificate(no[0], no[1], nil); err == nil {
			t.Errorf("%v will do", no)
		}
	}
}

func TestCertificateFilesAreLookedAtAgain(t *testing.T) {
	dir := t.TempDir()
	_, _, err := SelfSigned(dir, []string{"one.example"}, time.Now())
	good(t, err)
	l := &log{}
	c := &certificate{
		certFile: filepath.Join(dir, "self.crt"), keyFile: filepath.Join(dir, "self.key"),
		log: slog.New(slog.NewTextHandler(l, nil)),
	}
	good(t, c.load())
	name := func() string {
		t.Helper()
		c.looked = time.Time{} // a minute passes
		pair, err := c.get(nil)
		good(t, err)
		return pair.Leaf.DNSNames[0]
	}
	_, _, err = SelfSigned(dir, []string{"two.example"}, time.Now())
	good(t, err)
	if got := name(); got != "two.example" {
		t.Errorf("got %s", got)
	}
	good(t, os.WriteFile(c.certFile, []byte("half a fi"), 0o600))
	if got := name(); got != "two.example" || !strings.Contains(l.String(), "the old one stays") {
		t.Errorf("got %s; %s", got, l)
	}
}

// TestACertificateThatFailedIsTriedAgain: what keeps a file from being read need not show in its size and time.
func TestACertificateThatFailedIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	_, _, err := SelfSigned(dir, []string{"one.example"}, time.Now())
	good(t, err)
	c := &certificate{
		certFile: filepath.Join(dir, "self.crt"), keyFile: filepath.Join(dir, "self.key"),
		log: slog.New(slog.DiscardHandler),
	}
	good(t, c.load())
	_, _, err = SelfSigned(dir, []string{"two.example"}, time.Now())
	good(t, err)
	whole, err := os.ReadFile(c.certFile)
	good(t, err)
	f := func(content []byte, want string) {
		t.Helper()
		good(t, os.WriteFile(c.certFile, content, 0o600))
		good(t, os.Chtimes(c.certFile, noon, noon))
		c.looked = time.Time{} // a minute passes
		if pair, err := c.get(nil); err != nil || pair.Leaf.DNSNames[0] != want {
			t.Errorf("got %v, %v, want %s", pair.Leaf.DNSNames, err, want)
		}
	}
	f(make([]byte, len(whole)), "one.example")
	f(whole, "two.example")
}

func TestListenBeyondThisMachineNeedsTLS(t *testing.T) {
	c, _, err := SelfSigned(t.TempDir(), []string{"127.0.0.1"}, time.Now())
	good(t, err)
	if _, err := Listen(t.Context(), "0.0.0.0:0", nil); err == nil {
		t.Fatal("it listens without TLS")
	} else {
		for _, word := range []string{"--tls-cert", "--tls-self-signed", "dyno user add", "ssh -L"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%v: says nothing of %s", err, word)
			}
		}
	}
	l, err := Listen(t.Context(), "0.0.0.0:0", c)
	good(t, err)
	if Loopback(l) {
		t.Error("all addresses are taken for loopback ones")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, New(bare(), Options{}), nil) }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	good(t, err)
	f := func(c *tls.Config, want string) {
		t.Helper()
		h := &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}}
		a, err := h.Get("https://127.0.0.1:" + port + "/-/healthy")
		if want == "" {
			if err == nil {
				a.Body.Close()
				t.Error("it is answered")
			}
			return
		}
		good(t, err)
		defer a.Body.Close()
		if _, err := io.Copy(io.Discard, a.Body); err != nil || a.Proto != want {
			t.Errorf("got %s, %v", a.Proto, err)
		}
	}
	f(&tls.Config{InsecureSkipVerify: true}, "HTTP/1.1") // although it asks for HTTP/2
	f(&tls.Config{}, "")                                 // who does not trust it
	f(&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}, "")
	if a, err := http.Get("http://127.0.0.1:" + port + "/-/healthy"); err == nil {
		if a.Body.Close(); a.StatusCode != 400 {
			t.Errorf("without TLS: got %d", a.StatusCode)
		}
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
