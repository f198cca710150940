package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"dyno/internal/httpapi"
	"dyno/internal/pattern"
	"dyno/internal/store/access"
)

// doorFlags say who is let in.
type doorFlags struct {
	listen     string
	cert, key  string
	selfSigned bool
	hosts      []string
	readOnly   bool
}

func (d *doorFlags) add(f *pflag.FlagSet) {
	f.StringVar(&d.listen, "listen", defaultListen, "address to answer on; beyond this machine (0.0.0.0:8306) it needs TLS and users, see docs/access.md; port 0 takes any")
	f.StringVar(&d.cert, "tls-cert", "", "answer with TLS: PEM file of the certificate and its chain; a renewed one is taken up by itself")
	f.StringVar(&d.key, "tls-key", "", "PEM file of its key")
	f.BoolVar(&d.selfSigned, "tls-self-signed", false, "answer with TLS and a certificate that Dyno makes itself; browsers warn until its fingerprint is trusted")
	f.StringSliceVar(&d.hosts, "host", nil, "name by which others reach this server, in a browser or through a proxy; with it a login is needed; may be repeated")
	f.BoolVar(&d.readOnly, "read-only", false, "nothing can be changed through the page and the API")
}

var hostForm = pattern.New(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

func (d *doorFlags) check() error {
	if (d.cert == "") != (d.key == "") {
		return usagef("--tls-cert and --tls-key belong together")
	}
	if d.cert != "" && d.selfSigned {
		return usagef("--tls-self-signed makes a certificate, --tls-cert gives one: choose")
	}
	for _, h := range d.hosts {
		if !hostForm.MatchString(h) && net.ParseIP(h) == nil {
			return usagef("--host %q: it is a name as in dyno.example.org or an address, without https:// and without a port", h)
		}
	}
	return nil
}

// door is where requests come in.
type door struct {
	l        net.Listener
	users    *access.Store
	guarding httpapi.Guarding
	url      string
}

// openDoor opens the port and the users' file. Where a login is needed and there are no users, it tells the first-run token, once.
func (e *env) openDoor(ctx context.Context, d doorFlags, log *slog.Logger) (*door, error) {
	c, fingerprint, err := e.certificate(d, log)
	if err != nil {
		return nil, err
	}
	users, err := e.app.Users(ctx)
	if err != nil {
		return nil, err
	}
	l, err := httpapi.Listen(ctx, d.listen, c)
	if err != nil {
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			err = fmt.Errorf("%w; another program answers there, perhaps a dyno serve: end it, or choose another port with --listen", err)
		case !ofMachine(err):
			err = &exitError{exitUsage, err}
		}
		return nil, errors.Join(err, users.Close())
	}
	x := &door{l: l, users: users, guarding: httpapi.Guarding{Hosts: d.hosts, Beyond: !httpapi.Loopback(l), ReadOnly: d.readOnly}}
	scheme := "http"
	if c != nil {
		scheme = "https"
		_, port, _ := net.SplitHostPort(l.Addr().String())
		x.guarding.HSTS = d.cert != "" && port == "443"
	}
	x.url = scheme + "://" + reached(l.Addr(), d.hosts)
	if fingerprint != "" {
		e.remark("The certificate is Dyno's own. A browser warns once; its SHA-256 fingerprint must be\n  %s", fingerprint)
	}
	return x, e.firstToken(ctx, x)
}

// ofMachine reports whether this machine, and not what was typed, keeps a port from being opened: it is taken, or names are not resolved now.
func ofMachine(err error) bool {
	var call *os.SyscallError
	var dns *net.DNSError
	return errors.As(err, &call) || errors.As(err, &dns) && (dns.IsTimeout || dns.IsTemporary)
}

func (e *env) certificate(d doorFlags, log *slog.Logger) (c *tls.Config, fingerprint string, err error) {
	switch {
	case d.cert != "":
		c, err = httpapi.Certificate(d.cert, d.key, log)
	case d.selfSigned:
		names := append([]string{"localhost", "127.0.0.1", "::1"}, d.hosts...)
		if host, _, err := net.SplitHostPort(d.listen); err == nil {
			if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
				names = append(names, ip.String())
			}
		}
		if h, err := os.Hostname(); err == nil && hostForm.MatchString(h) {
			names = append(names, h)
		}
		slices.Sort(names)
		c, fingerprint, err = httpapi.SelfSigned(filepath.Join(e.app.Home, "tls"), slices.Compact(names), time.Now())
	}
	return c, fingerprint, err
}

// firstToken tells the token that lets the first operator in, also with --quiet: without it nobody could.
func (e *env) firstToken(ctx context.Context, x *door) error {
	if !x.guarding.Beyond && len(x.guarding.Hosts) == 0 {
		return nil
	}
	if x.guarding.ReadOnly { // the token would add a user
		some, err := x.users.HasUsers(ctx)
		if err != nil {
			return errors.Join(err, x.close())
		}
		if !some {
			e.remark("There are no users yet, and with --read-only the page adds none: `dyno user add NAME --role operator` adds the first.")
		}
		return nil
	}
	token, err := x.users.FirstToken(ctx)
	if errors.Is(err, access.ErrExists) {
		return nil // there are users
	} else if err != nil {
		return errors.Join(err, x.close())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clearLine()
	fmt.Fprintf(e.Err, "There are no users yet. The page asks for this token, once, within a day, and for the first operator's name and password:\n  %s\n", token)
	return nil
}

func (x *door) close() error { return errors.Join(x.l.Close(), x.users.Close()) }

// reached is the address by which a browser comes: a name that was given, else that of the listener, else one of this machine's.
func reached(a net.Addr, hosts []string) string {
	host, port, err := net.SplitHostPort(a.String())
	ip := net.ParseIP(host)
	switch {
	case err != nil:
		return a.String()
	case ip != nil && ip.IsLoopback(): // a proxy's name is not this port's
		return a.String()
	case len(hosts) > 0:
		host = hosts[0]
	case ip != nil && ip.IsUnspecified():
		all, _ := net.InterfaceAddrs()
		host = "127.0.0.1"
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
				host = n.IP.String()
				break
			}
		}
	}
	return net.JoinHostPort(host, port)
}
