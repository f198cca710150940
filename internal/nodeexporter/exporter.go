package nodeexporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/guard"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// maxPage bounds a page, unpacked. One of a machine with hundreds of disks and networks takes less than 1 MiB.
	maxPage = 8 << 20
	// maxTime bounds a request.
	maxTime = 4 * time.Second
	// fresh is how old a page that nobody took may be. An older one would be taken for figures of now.
	fresh = time.Second
)

// Exporter asks one node_exporter, one request at a time. Redirects are not followed: they could lead to any place. It
// sends no password and uses no proxy. Its methods may be called from many goroutines.
type Exporter struct {
	url, at string
	client  *http.Client
	ctx     context.Context
	stop    context.CancelFunc

	mu     sync.Mutex
	flight *flight
}

// flight is one request. Its fields are set before done is closed.
type flight struct {
	done   chan struct{}
	landed time.Time
	page   *Page
	err    error
}

// New returns an Exporter of a URL, as endpoint.Spec.NodeExporter holds it. It asks nothing yet; Close ends it.
func New(address string) *Exporter {
	e := &Exporter{url: address, at: "its URL"}
	if u, err := url.Parse(address); err == nil {
		e.at = u.Host
	}
	e.client = &http.Client{
		Transport: &http.Transport{
			MaxConnsPerHost: 1, MaxIdleConns: 1, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: maxTime, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// At returns where it is, for messages: host and port.
func (e *Exporter) At() string { return e.at }

// Begin sends a request, unless one is on its way.
func (e *Exporter) Begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.flight; f != nil {
		select {
		case <-f.done:
		default:
			return
		}
	}
	f := &flight{done: make(chan struct{})}
	e.flight = f
	go func() {
		defer close(f.done)
		f.err = guard.Run(func() (err error) {
			f.page, err = e.get()
			return err
		})
		f.landed = time.Now()
	}()
}

// Take returns the page of the request that is on its way, or begins one. A page is given once.
func (e *Exporter) Take(ctx context.Context) (*Page, error) {
	f := e.current()
	if f == nil {
		e.Begin()
		f = e.current()
	}
	select {
	case <-f.done: // also when the time is up
	default:
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.flight == f {
		e.flight = nil
	}
	return f.page, f.err
}

// current returns the request that may be taken, nil for none.
func (e *Exporter) current() *flight {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.flight; f != nil {
		select {
		case <-f.done:
			if time.Since(f.landed) > fresh {
				e.flight = nil
			}
		default:
		}
	}
	return e.flight
}

// Close ends what is on its way and the connection.
func (e *Exporter) Close() {
	e.stop()
	e.mu.Lock()
	f := e.flight
	e.mu.Unlock()
	if f != nil {
		<-f.done
	}
	e.client.CloseIdleConnections()
}

func (e *Exporter) get() (*Page, error) {
	ctx, cancel := context.WithTimeout(e.ctx, maxTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, http.NoBody)
	if err != nil {
		return nil, errors.New("its URL is not usable")
	}
	q.Header.Set("Accept", "text/plain;version=0.0.4")
	q.Header.Set("User-Agent", "dyno")
	a, err := e.client.Do(q)
	if err != nil {
		return nil, bare(err)
	}
	defer a.Body.Close()
	switch {
	case a.StatusCode >= 300 && a.StatusCode < 400:
		return nil, fmt.Errorf("it answers %d, a redirect, which is not followed", a.StatusCode)
	case a.StatusCode == http.StatusUnauthorized, a.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("it answers %d: it wants a login, and Dyno sends none", a.StatusCode)
	case a.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers with status %d", a.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(a.Body, maxPage+1))
	if err != nil {
		return nil, bare(err)
	}
	if len(b) > maxPage {
		return nil, fmt.Errorf("its page is larger than %d MiB", maxPage>>20)
	}
	return parse(b, time.Now())
}

// bare takes the URL out of an error of the client, and says which time was up.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s: %w", unit.Duration(maxTime), context.DeadlineExceeded)
	}
	return err
}
