package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// remote is a file to fetch, and what it must be.
type remote struct {
	url    string
	header http.Header // login for the registry; nil for none
	bytes  int64       // 0 when not known
	hash   func() hash.Hash
	sum    []byte
	pause  time.Duration // before the second try, longer before later ones; 250 ms if zero
	stall  time.Duration // how long a connection may send nothing; fetchStall if zero
}

const (
	fetchTries = 6                // without a byte of progress between them
	fetchStall = 60 * time.Second // without a byte
	fetchLimit = 4 << 30          // of a file whose size nobody tells
)

// newClient returns a client that takes its proxy from the environment.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = fetchStall
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= 10:
			return errors.New("more than 10 redirects")
		case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
			return errors.New("a redirect from https to " + r.URL.Scheme)
		}
		return nil
	}}
}

// fetch makes path the file r, going on with what an earlier try left there. Of a connection that breaks or stalls the
// rest is asked for again. The file's size and hash are checked; one that differs is removed and fetched once more,
// then given up. With another error what was fetched stays, except on a full disk. report is told the bytes that are
// there of those expected, 0 when nobody knows.
func fetch(ctx context.Context, c *http.Client, r remote, path string, report func(done, total int64)) error {
	var last error
	pause := cmp.Or(r.pause, 250*time.Millisecond)
	for fresh, try := 0, 1; try <= fetchTries; try++ {
		n, err := fetchOnce(ctx, c, r, path, report)
		if err == nil {
			if err = verify(ctx, r, path); err == nil {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if e := os.Remove(path); e != nil {
				return inline([]error{err, e})
			}
			if fresh++; fresh == 2 {
				return hint(err, "what the registry or a proxy on the way sends is not the file that was published; "+
					"try another network")
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		last = err
		if p := (permanent{}); errors.As(err, &p) {
			break
		}
		if n > 0 {
			try = 1
		}
		if try == fetchTries {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(time.Duration(try*try)*pause, 5*time.Second)):
		}
	}
	if h := (hinted{}); errors.As(last, &h) {
		return last
	}
	return hint(last, "check that this machine reaches "+hostOf(r.url)+" (HTTPS_PROXY, name service) and try again; "+
		"the download resumes")
}

// permanent is an error that another try does not mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// fetchOnce asks for what is missing at path, and returns the bytes it got.
func fetchOnce(
	ctx context.Context, c *http.Client, r remote, path string, report func(done, total int64),
) (got int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, permanent{err}
	}
	defer func() { err = inline([]error{err, f.Close()}) }()
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, permanent{err}
	}
	if r.bytes > 0 && have >= r.bytes {
		return 0, nil // the hash tells whether it is right
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := get(ctx, c, r.url, r.header, have)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	total := r.bytes
	switch resp.StatusCode {
	case http.StatusOK: // from the beginning, whatever was asked for
		have = 0
		if resp.ContentLength > 0 {
			total = resp.ContentLength
		}
	case http.StatusPartialContent:
		start, whole, ok := contentRange(resp.Header.Get("Content-Range"))
		if !ok || start != have {
			return 0, inline([]error{fmt.Errorf("%w: %s answers with a range other than requested", ErrFetch,
				plain(r.url)), f.Truncate(0)})
		}
		if total == 0 {
			total = whole
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if r.bytes == 0 && have > 0 {
			return 0, nil // all of it is there already, or its hash is wrong
		}
		return 0, inline([]error{fmt.Errorf("%w: %s: %q", ErrFetch, plain(r.url), resp.Status), f.Truncate(0)})
	default:
		return 0, statusError(r.url, resp)
	}
	limit := int64(fetchLimit)
	if total > 0 {
		limit = total
	}
	if limit > fetchLimit || r.bytes > 0 && total != r.bytes {
		return 0, permanent{fmt.Errorf("%w: %s has %d bytes, not %d", ErrFetch, plain(r.url), total, r.bytes)}
	}
	if err := f.Truncate(have); err != nil {
		return 0, permanent{err}
	}
	if err := checkSpace(filepath.Dir(path), max(total-have, 0)); err != nil {
		return 0, permanent{err}
	}
	if _, err := f.Seek(have, io.SeekStart); err != nil {
		return 0, permanent{err}
	}
	patience := cmp.Or(r.stall, fetchStall)
	stall := time.AfterFunc(patience, func() { cancel(fmt.Errorf("nothing came for %s", patience)) })
	defer stall.Stop()
	buf, unchecked := make([]byte, 256<<10), int64(0)
	for {
		n, rerr := resp.Body.Read(buf)
		if n > 0 {
			stall.Reset(patience)
			if have+got+int64(n) > limit {
				return got, permanent{inline([]error{fmt.Errorf("%w: %s sends more than %d bytes", ErrFetch,
					plain(r.url), limit), f.Truncate(0)})}
			}
			if _, err := f.Write(buf[:n]); err != nil {
				return got, permanent{inline([]error{err, f.Truncate(0)})} // a full disk is not left full
			}
			got += int64(n)
			if unchecked += int64(n); unchecked >= reserve/4 {
				unchecked = 0
				if err := checkSpace(filepath.Dir(path), 0); err != nil {
					return got, permanent{inline([]error{err, f.Truncate(0)})}
				}
			}
			report(have+got, total)
		}
		switch {
		case errors.Is(rerr, io.EOF):
			if total > 0 && have+got < total {
				return got, fmt.Errorf("%w: %s ended after %d of %d bytes", ErrFetch, plain(r.url), have+got, total)
			}
			return got, nil
		case rerr != nil:
			if cause := context.Cause(ctx); cause != nil {
				rerr = cause
			}
			return got, fmt.Errorf("%w: %s: %w", ErrFetch, plain(r.url), rerr)
		}
	}
}

// get sends a request for a file from a byte on.
func get(ctx context.Context, c *http.Client, address string, header http.Header, from int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, permanent{fmt.Errorf("%w: %s is not an address", ErrFetch, plain(address))}
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "dyno")
	req.Header.Set("Accept-Encoding", "identity") // ranges are of the file as it is
	if from > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(from, 10)+"-")
	}
	resp, err := c.Do(req)
	if err != nil {
		if ue := (*url.Error)(nil); errors.As(err, &ue) { // its address may have a login or a signature in it
			err = ue.Err
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrFetch, plain(address), err)
	}
	return resp, nil
}

// statusError makes the error of an answer that has no file in it.
func statusError(address string, resp *http.Response) error {
	err := fmt.Errorf("%w: %s: %q", ErrFetch, plain(address), resp.Status)
	switch c := resp.StatusCode; {
	case c == http.StatusUnauthorized || c == http.StatusForbidden || c == http.StatusProxyAuthRequired:
		return permanent{hint(err, "the registry or a proxy requires a login: put it where Maven, npm or curl would "+
			"look for it (~/.m2/settings.xml, ~/.npmrc, HTTPS_PROXY)")}
	case c == http.StatusTooManyRequests || c == http.StatusRequestTimeout || c >= 500:
		return err
	}
	return permanent{hint(err, "the registry does not have the file; a mirror may not be complete")}
}

// contentRange reads the value of a Content-Range header: bytes 100-199/1000, with * for a length that is not known.
func contentRange(v string) (start, whole int64, ok bool) {
	v, ok = strings.CutPrefix(v, "bytes ")
	span, length, ok2 := strings.Cut(v, "/")
	first, _, ok3 := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if !ok || !ok2 || !ok3 || err != nil || start < 0 {
		return 0, 0, false
	}
	if length != "*" {
		if whole, err = strconv.ParseInt(length, 10, 64); err != nil || whole < start {
			return 0, 0, false
		}
	}
	return start, whole, true
}

// verify returns an error when path is not the file r.
func verify(ctx context.Context, r remote, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := r.hash()
	n, err := io.Copy(h, contextReader{ctx, f})
	if err != nil {
		return err
	}
	if r.bytes > 0 && n != r.bytes {
		return fmt.Errorf("%w: %s has %d bytes, not %d", ErrFetch, plain(r.url), n, r.bytes)
	}
	if got := h.Sum(nil); !bytes.Equal(got, r.sum) {
		return fmt.Errorf("%w: %s has the checksum %x, not %x", ErrFetch, plain(r.url), got, r.sum)
	}
	return nil
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// plain returns an address as it may be shown: without a login and without a query, which may hold one.
func plain(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the registry's address"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return "the registry"
}
