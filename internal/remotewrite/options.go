package remotewrite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Source is the store that the samples come from.
type Source interface {
	// Each calls f for each series that has samples from from to to (Unix milliseconds, both included), with all of
	// these in order of time, each moment once, markers of a series' end among them. The order of the series is free.
	// What f is given is valid during the call only, but for its strings. An error of f ends it and is returned.
	Each(ctx context.Context, from, to int64, f func(metric.Series) error) error
}

// Options say where samples go and how. URL and Cursor are needed.
type Options struct {
	URL    string // of the receiver: http://host:9090/api/v1/write; without user and password
	Cursor string // path of the file that remembers what was acknowledged

	User     string // with Password for basic authentication
	Password Credential
	Bearer   Credential // token, in place of a user
	CA       string     // PEM file of the authorities that signed the receiver's certificate, "" for the system's
	Cert     string     // PEM files of the client's own certificate
	Key      string

	Labels metric.Labels // added to each series that does not have a label of that name
	// changes name, labels and kind on the way; nil for none
	Rename func(metric.Sample) metric.Sample
	// where there is no cursor yet, send all that the store holds, not only what comes from now on
	Backfill bool

	// age at which a moment's samples are read: until then the slower sources have given theirs; 0 is 5 s
	Settle  time.Duration
	Every   time.Duration // time between two readings of the store; 0 is 5 s
	Timeout time.Duration // of one request; 0 is 30 s
	Batch   int           // samples in one request; 0 is 5000
	// Rate is how many samples a second are sent when catching up; 0 is 100 000. It gives way where 20 times the speed
	// at which the samples came is more: a large fleet must be able to catch up too.
	Rate int

	// Replay is how much is sent once more after the receiver was away and after a start of Dyno. It is for receivers
	// that acknowledge samples before these are safe and take the same sample twice: VictoriaMetrics loses up to 5 s
	// when it is killed.
	Replay time.Duration

	Log *slog.Logger // is told when sending fails, when it works again and what is refused; nil for nobody
}

// ErrOptions says that Options cannot be used as they are.
var ErrOptions = errors.New("remote write is set up wrongly")

func (o *Options) check() (*url.URL, error) {
	bad := func(format string, args ...any) (*url.URL, error) {
		return nil, fmt.Errorf("%w: %w", ErrOptions, fmt.Errorf(format, args...))
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		// err would show a password that is in it
		return bad("the receiver's address is not a URL: the form is https://host:port/api/v1/write")
	case u.User != nil:
		return bad("no user and password in the receiver's URL: name the user apart, and the environment variable or " +
			"the file that has the password")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return bad("the receiver's address is not an http or https URL: the form is https://host:port/api/v1/write")
	case o.Cursor == "":
		return bad("no file for the cursor is named")
	case o.User != "" && o.Bearer != (Credential{}):
		return bad("a user and a token exclude each other")
	case o.User == "" && o.Password != (Credential{}):
		return bad("a password needs a user")
	case (o.Cert == "") != (o.Key == ""):
		return bad("a client certificate needs both its files, certificate and key")
	case (o.User != "" || o.Bearer != (Credential{})) && u.Scheme == "http" && !loopback(u.Hostname()):
		return bad("a password or token goes over https only")
	}
	for _, l := range o.Labels {
		if strings.HasPrefix(l.Name, "__") || l.Name == "" {
			return bad("a label cannot be called %q", l.Name)
		}
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Settle, 5*time.Second)
	def(&o.Every, 5*time.Second)
	def(&o.Timeout, 30*time.Second)
	if o.Batch <= 0 {
		o.Batch = 5000
	}
	if o.Rate <= 0 {
		o.Rate = 100_000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
