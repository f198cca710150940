package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/httpapi"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/store/access"
)

// doorFlags say who is let in.
type doorFlags struct {
	listen     string
	mode       uint32 // of a socket
	cert, key  string
	selfSigned bool
	hosts      []string
	readOnly   bool
}

func (d *doorFlags) add(f *pflag.FlagSet) {
	f.StringVar(&d.listen, "listen", defaultListen, "address to listen on; beyond this machine (0.0.0.0:8306) it "+
		"needs TLS, and the first start prints a token for adding the first operator, see docs/access.md; port 0 "+
		"picks a free one; or a Unix socket, unix:/run/dyno/dyno.sock")
	f.Var((*socketMode)(&d.mode), "socket-mode", "who may connect to the socket of --listen, octal: 600 Dyno's own "+
		"account, 660 its group too")
	f.StringVar(&d.cert, "tls-cert", "", "use TLS: PEM file of the certificate and its chain; a renewed one is "+
		"loaded automatically")
	f.StringVar(&d.key, "tls-key", "", "PEM file of its key")
	f.BoolVar(&d.selfSigned, "tls-self-signed", false, "use TLS with a certificate that Dyno creates; browsers warn "+
		"until its fingerprint is trusted")
	f.StringSliceVar(&d.hosts, "host", nil, "name by which others reach this server, in a browser or through a "+
		"proxy; requires a login; may be repeated")
	f.BoolVar(&d.readOnly, "read-only", false, "allow no changes through the web UI and the API")
}

var hostForm = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

// socketMode is the mode of a socket, as chmod takes it.
type socketMode uint32

func (m *socketMode) Set(s string) error {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n&^0o666 != 0 || n&0o600 != 0o600 {
		return errors.New("must be 600, 660 or 666, for those who may read and write")
	}
	*m = socketMode(n)
	return nil
}

func (m *socketMode) String() string { return strconv.FormatUint(uint64(*m), 8) }
func (m *socketMode) Type() string   { return "mode" }

// socket returns the path of the socket that --listen names, "" for a port.
func (d *doorFlags) socket() string {
	path, _ := strings.CutPrefix(d.listen, "unix:")
	if path == d.listen {
		return ""
	}
	return path
}

func (d *doorFlags) check() error {
	if d.socket() != "" && (d.cert != "" || d.selfSigned) {
		return usagef("--listen %s: a socket has no TLS: leave --tls-cert, --tls-key and --tls-self-signed out",
			d.listen)
	}
	if (d.cert == "") != (d.key == "") {
		return usagef("--tls-cert and --tls-key belong together")
	}
	if d.cert != "" && d.selfSigned {
		return usagef("--tls-self-signed makes a certificate, --tls-cert gives one: use one of them")
	}
	for _, h := range d.hosts {
		if !hostForm.MatchString(h) && net.ParseIP(h) == nil {
			return usagef("--host %q: must be a name such as dyno.example.org or an address, without https:// and "+
				"without a port", h)
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
	used     <-chan struct{} // the first-run link let somebody in; nil when there is none
}

// openDoor opens the port and the users' file. Where a login is needed and there are no users, it tells the first-run
// token, once.
func openDoor(ctx context.Context, e *env, d doorFlags, log *slog.Logger) (*door, error) {
	c, fingerprint, err := certificate(e, d, log)
	if err != nil {
		return nil, err
	}
	users, err := app.Stores{App: e.app}.Users(ctx)
	if err != nil {
		return nil, err
	}
	var l net.Listener
	if path := d.socket(); path != "" {
		l, err = httpapi.ListenSocket(ctx, path, fs.FileMode(d.mode))
	} else {
		l, err = httpapi.Listen(ctx, d.listen, c)
	}
	if err != nil {
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			err = fmt.Errorf("%w; another program listens there, perhaps another dyno serve: end it, or choose "+
				"another port with --listen", err)
		case !ofMachine(err):
			err = &exitError{exitUsage, err}
		}
		return nil, errors.Join(err, users.Close())
	}
	x := &door{l: l, users: users, guarding: httpapi.Guarding{
		Hosts:  d.hosts,
		Beyond: !httpapi.Loopback(l), ReadOnly: d.readOnly,
	}}
	scheme := "http"
	if c != nil {
		scheme = "https"
		_, port, _ := net.SplitHostPort(l.Addr().String())
		x.guarding.HSTS = d.cert != "" && port == "443"
	}
	x.url = scheme + "://" + reached(l.Addr(), d.hosts)
	if d.socket() != "" {
		x.url = d.listen
	}
	if fingerprint != "" {
		e.remark("The certificate is Dyno's own. A browser warns once; its SHA-256 fingerprint must be\n  %s",
			fingerprint)
	}
	return x, x.firstToken(ctx, e)
}

// The files in Dyno's home, for its owner only, that have the first-run link, and where others come the token. Where
// standard error is no terminal they alone have it: more people may read the journal than may log in.
const (
	linkFile  = "first-run-link"
	tokenFile = "first-run-token"
)

// linkEvery is how often the link is made anew: it is good for a day.
const linkEvery = 12 * time.Hour

// firstLink makes a link that logs a browser of this machine in as long as there are no users, in place of the one
// before, and keeps it in a file that only Dyno's own account can read. With users there is none, and the file goes.
func (x *door) firstLink(ctx context.Context, e *env) (link string, err error) {
	token, err := x.users.FirstToken(ctx)
	if errors.Is(err, access.ErrExists) {
		return "", putSecret(e, linkFile, "")
	} else if err != nil {
		return "", err
	}
	link = x.url + "/login#" + token
	return link, putSecret(e, linkFile, link)
}

// putSecret puts a file in Dyno's home in place of the one before, "" none.
func putSecret(e *env, name, text string) error {
	path := filepath.Join(e.app.Home, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if text == "" {
		return nil
	}
	// born with its mode, and no link of anybody's is followed
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + "\n")
	return errors.Join(err, f.Close())
}

// keepLink makes another link when one was used or grows old, until ctx ends.
func (x *door) keepLink(ctx context.Context, e *env, log *slog.Logger) error {
	if x.used == nil {
		return nil
	}
	defer os.Remove(filepath.Join(e.app.Home, linkFile))
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-x.used:
		case <-time.After(linkEvery):
		}
		if link, err := x.firstLink(ctx, e); err != nil && ctx.Err() == nil {
			log.Error("the first-run link cannot be created", "err", err)
		} else if link == "" {
			return nil
		}
	}
}

// warnOthers says that other people can log in to this machine, where nobody needs a login.
func warnOthers(e *env, passwd string) {
	b, err := os.ReadFile(passwd)
	if err != nil || os.Geteuid() != 0 {
		return
	}
	others := people(string(b))
	if len(others) == 0 {
		return
	}
	const most = 3
	names := strings.Join(others[:min(most, len(others))], ", ")
	if n := len(others) - most; n > 0 {
		names += fmt.Sprintf(" and %d more", n)
	}
	e.remark("Warning: Dyno runs as root, has no users, and %s can log in to this machine. They have no access, but "+
		"every program that\n"+
		"root runs is an operator. Fix: dyno user add NAME.", names)
}

// people returns the accounts of /etc/passwd that persons log in to.
func people(passwd string) (names []string) {
	for line := range strings.Lines(passwd) {
		f := strings.Split(strings.TrimSpace(line), ":") // name password uid gid gecos home shell
		if len(f) != 7 {
			continue
		}
		uid, err := strconv.Atoi(f[2])
		shell := filepath.Base(f[6])
		if err == nil && uid >= 1000 && uid != 65534 && shell != "." && shell != "nologin" && shell != "false" {
			names = append(names, f[0])
		}
	}
	return names
}

// ofMachine reports whether this machine, and not what was typed, keeps a port from being opened: it is taken, or names
// are not resolved now.
func ofMachine(err error) bool {
	var call *os.SyscallError
	var dns *net.DNSError
	return errors.As(err, &call) || errors.As(err, &dns) && (dns.IsTimeout || dns.IsTemporary)
}

func certificate(e *env, d doorFlags, log *slog.Logger) (c *tls.Config, fingerprint string, err error) {
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
func (x *door) firstToken(ctx context.Context, e *env) error {
	if !x.guarding.Beyond && len(x.guarding.Hosts) == 0 {
		if _, err := x.users.HasUsers(ctx); err != nil { // such as a file that was lost
			return errors.Join(err, x.close())
		}
		return nil
	}
	if x.guarding.ReadOnly { // the token would add a user
		some, err := x.users.HasUsers(ctx)
		if err != nil {
			return errors.Join(err, x.close())
		}
		if !some {
			e.remark("There are no users yet, and with --read-only the web UI adds none: `dyno user add NAME --role " +
				"operator` adds the first.")
		}
		return nil
	}
	token, err := x.users.FirstToken(ctx)
	if errors.Is(err, access.ErrExists) { // there are users
		token, err = "", nil
	}
	if err == nil {
		err = putSecret(e, tokenFile, token)
	}
	if err != nil {
		return errors.Join(err, x.close())
	}
	if token == "" {
		return nil
	}
	which := "this token"
	if !isTerminal(e.Err) {
		which, token = "the token in this file", filepath.Join(e.app.Home, tokenFile)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clearLine()
	fmt.Fprintf(e.Err, "There are no users yet. The web UI asks for %s, valid once and for a day, and for the first "+
		"operator's name and password:\n  %s\n", which, token)
	return nil
}

// letIn says how to come in where people of this machine alone come: with users by a login, without by the link.
func (x *door) letIn(ctx context.Context, e *env) {
	if some, err := x.users.HasUsers(ctx); some || err != nil || x.guarding.Beyond || len(x.guarding.Hosts) > 0 {
		return
	}
	warnOthers(e, "/etc/passwd")
	if _, ok := x.l.Addr().(*net.UnixAddr); ok { // no browser comes by a socket
		return
	}
	link, err := x.firstLink(ctx, e)
	if err != nil { // such as a full disk: root and Dyno's own account are let in all the same
		e.remark("The link that gives a browser of another account access cannot be created: %v", err)
	}
	if link == "" {
		return
	}
	used := make(chan struct{}, 1)
	x.used, x.guarding.Linked = used, func() {
		select {
		case used <- struct{}{}:
		default: // one is under way
		}
	}
	file := filepath.Join(e.app.Home, linkFile)
	how := "This link gives one other browser of this\nmachine access, once, within a day; " + file +
		" always has a valid one:\n  " + link
	if !isTerminal(e.Err) {
		how = "The link in this file gives one other\nbrowser of this machine access, once; it always has a valid " +
			"one:\n  " + file
	}
	e.remark("There are no users: root and Dyno's own account need no login. %s", how)
}

func (x *door) close() error { return errors.Join(x.l.Close(), x.users.Close()) }

// reached is the address by which a browser comes: a name that was given, else that of the listener, else one of this
// machine's.
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
