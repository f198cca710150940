package remotewrite

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dyno-perf/dyno/internal/host"
)

// outcome is what became of a request.
type outcome uint8

const (
	stored  outcome = iota // acknowledged
	refused                // the receiver will never take it as it is
	tooBig                 // it would take parts of it
	failed                 // for now: it is tried again
	silent                 // as failed, and nobody knows whether the receiver stored it
)

// answer is an outcome with what is known of it.
type answer struct {
	outcome outcome
	err     error         // in words for people
	wait    time.Duration // how long the receiver wants to be left alone, 0 when it does not say
	known   bool          // refused because the receiver has these samples or newer ones
}

// client speaks to one receiver.
type client struct {
	o    *Options
	url  string
	http *http.Client
}

func newClient(o *Options, u *url.URL) (*client, error) {
	tc := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("read the receiver's CA: %w", err)
		}
		tc.RootCAs = x509.NewCertPool()
		if !tc.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the receiver's CA: %s has no certificate in PEM", o.CA)
		}
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate for the receiver: %w", err)
		}
		tc.Certificates = []tls.Certificate{pair}
	}
	return &client{o: o, url: u.String(), http: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: tc, TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout: time.Minute,
			DialContext:     dialer(o, u), ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1,
		},
		// a password goes where it was meant to go
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// dialer connects to the receiver. While one of this machine is down, anybody can take its port, and would be sent what
// it is asked with: without TLS that goes to root and Dyno's own account alone.
func dialer(o *Options, u *url.URL) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	if u.Scheme != "http" || o.User == "" && o.Bearer == (Credential{}) {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		t, ok := c.(*net.TCPConn)
		if err != nil || !ok {
			return c, err
		}
		// The kernel connects before a program takes the connection, and until then it is nobody's.
		uid, known := host.Answers(t)
		for end := time.Now().Add(10 * time.Second); !known && time.Now().Before(end) && ctx.Err() == nil; uid,
			known = host.Answers(t) {
			time.Sleep(10 * time.Millisecond)
		}
		switch {
		case known && (uid == 0 || uid == os.Geteuid()):
			return c, nil
		case known:
			err = fmt.Errorf("user %d answers there, and a password or token goes without https only to root's "+
				"receiver and that of Dyno's own account", uid)
		default:
			err = errors.New("the kernel does not report which account listens there, and a password or token goes " +
				"without https only to root's receiver and that of Dyno's own account")
		}
		c.Close()
		return nil, err
	}
}

// post sends one body.
func (c *client) post(ctx context.Context, body []byte) answer {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return answer{outcome: failed, err: err}
	}
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	req.Header.Set("User-Agent", "dyno")
	switch {
	case c.o.User != "":
		p, err := c.o.Password.read()
		if err != nil {
			return answer{outcome: failed, err: err}
		}
		req.SetBasicAuth(c.o.User, p)
	case c.o.Bearer != (Credential{}):
		p, err := c.o.Bearer.read()
		if err != nil {
			return answer{outcome: failed, err: err}
		}
		req.Header.Set("Authorization", "Bearer "+p)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var op *net.OpError
		var to *url.Error
		if errors.As(err, &to) {
			err = to.Err // the URL is said elsewhere
		}
		if errors.As(err, &op) && op.Op == "dial" { // it never got there
			return answer{outcome: failed, err: err}
		}
		return answer{outcome: silent, err: legible{err}} // it may hold lines that the receiver sent
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // what is cut off is of no use to anybody
	if resp.StatusCode/100 == 2 {
		return answer{outcome: stored}
	}
	a := answer{outcome: failed, err: fmt.Errorf("the receiver answers %s: %s",
		plain([]byte(resp.Status)), plain(text))}
	switch code := resp.StatusCode; {
	case code == http.StatusRequestEntityTooLarge:
		a.outcome = tooBig
	case code == http.StatusBadRequest, code == http.StatusUnprocessableEntity, code == http.StatusConflict:
		a.outcome, a.known = refused, stale(string(text))
	case code == http.StatusBadGateway, code == http.StatusGatewayTimeout: // a proxy lost sight of it
		a.outcome = silent
	}
	a.wait = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return a
}

// stale reports whether a receiver says that it has these samples, or newer ones of the series, already: Prometheus,
// Mimir, Thanos.
func stale(text string) bool {
	text = strings.ToLower(strings.ReplaceAll(text, "-", " "))
	for _, w := range []string{"out of order", "duplicate sample", "duplicate timestamp"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// retryAfter reads the header Retry-After, seconds or a date (RFC 9110, 10.2.3); at most five minutes.
func retryAfter(text string, now time.Time) time.Duration {
	var d time.Duration
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), 5*time.Minute)
}

// legible is an error whose text holds what a stranger wrote.
type legible struct{ error }

func (e legible) Error() string { return plain([]byte(e.error.Error())) }
func (e legible) Unwrap() error { return e.error }

// plain makes what a stranger wrote fit for one line of a log.
func plain(b []byte) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(string(b), "?"))
	if s = strings.Join(strings.Fields(s), " "); len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
