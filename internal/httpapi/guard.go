package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// maxBody is the most that a request may carry: a long PromQL expression or a note.
const maxBody = 1 << 20

// origins tells from where a request comes.
type origins struct {
	guarding Guarding
	hostname string // of this machine, where it is one of this server's names
}

// guard refuses what a foreign web page could make a browser send, before anybody asks who makes the request.
//
//   - The header Host must name this machine, or what Hosts has. A page whose own name was made to resolve to this
//     machine (DNS
//     rebinding) carries that name.
//   - It must not come through a proxy that nobody told of: all the world would come from this machine then.
//   - A request that changes something must not come from another origin (Sec-Fetch-Site, else Origin), nor one of the
//     API that a browser
//     says comes from another site: some of them do work, and one logs in to servers.
//   - Nothing may be embedded or read across origins: no CORS headers, no frames, no guessing of content types.
func (v *origins) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if v.guarding.HSTS && r.TLS != nil {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if !v.ownHost(r) {
			respondJSON(w, http.StatusMisdirectedRequest, problem{
				"error", "bad_data",
				"this server answers only to 127.0.0.1, localhost, [::1] and the names given with --host; the " +
					"request named another host",
				"dyno serve --host NAME lets it answer to that name, with a login",
			})
			return
		}
		if name := v.throughProxy(r); name != "" {
			respondJSON(w, http.StatusMisdirectedRequest, problem{
				"error", "bad_data",
				"this request came through a proxy (it has the header " + name + "), " +
					"and its clients cannot be told from local ones",
				"dyno serve --host NAME, the name that people type, answers through a proxy, with a login",
			})
			return
		}
		if err := origin.Check(r); err != nil || foreignRead(r) {
			respondError(w, http.StatusForbidden, "bad_data", "a request from another origin is refused")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether the header Host names this server. The address that the connection came in at is one of its
// names: no other page can have it for its own.
func (v *origins) ownHost(r *http.Request) bool {
	if loopbackHost(r.Host) {
		return true
	}
	name := strings.TrimSuffix(hostName(r.Host), ".")
	is := func(h string) bool { return name != "" && strings.EqualFold(h, name) }
	if is(v.hostname) || slices.ContainsFunc(v.guarding.Hosts, is) {
		return true
	}
	a, err := netip.ParseAddr(name)
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return err == nil && ok && a.Unmap() == at.AddrPort().Addr().Unmap().WithZone("")
}

// hostName returns a Host header without its port.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// loopbackHost reports whether a Host header names this machine, with any port.
func loopbackHost(host string) bool {
	name := hostName(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Unmap().IsLoopback()
}

// throughProxy returns the header by which a proxy gives itself away where none is expected: on a loopback address
// without a name given with --host. A proxy that adds none of them cannot be told from a program of this machine.
func (v *origins) throughProxy(r *http.Request) string {
	if g := v.guarding; g.Beyond || len(g.Hosts) > 0 {
		return ""
	}
	for _, name := range []string{
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
		"Forwarded", "Via", "X-Real-IP",
	} {
		if len(r.Header.Values(name)) > 0 {
			return name
		}
	}
	return ""
}

// foreignRead reports whether another site's page has a browser ask for what needs work, as an image or a frame would.
// Links to a report and to the samples may lead in.
func foreignRead(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
	default:
		return false
	}
	switch r.URL.Path {
	case reportPagePath, "/metrics", "/probe":
		return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
	}
	return strings.HasPrefix(r.URL.Path, "/api/")
}

// proxied reports whether a request came through a proxy on this machine, as far as that can be told: from here, for a
// name given with --host. Only then are the headers of the proxy looked at. Whoever is on this machine can forge them:
// see addressOf.
func (v *origins) proxied(r *http.Request) bool {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	here := err == nil && a.Addr().Unmap().IsLoopback() || peerOf(r).socket
	return here && len(v.guarding.Hosts) > 0 && !loopbackHost(r.Host)
}

// addressOf returns where a request comes from, without a port; of IPv6 the network, for a host has 2⁶⁴ addresses to
// try from. What a proxy says goes with the proxy's account: what another account says is another address.
func (v *origins) addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	via := ""
	if all := r.Header.Values("X-Forwarded-For"); len(all) > 0 && v.proxied(r) {
		// the last one is what the nearest proxy saw
		list := strings.Split(all[len(all)-1], ",")
		host = strings.TrimSpace(list[len(list)-1])
		via = " via ?"
		if uid, ok := peerOf(r).account(); ok {
			via = " via uid " + strconv.Itoa(uid)
		}
	}
	a, err := netip.ParseAddr(host)
	switch {
	case err != nil && peerOf(r).socket:
		return "socket"
	case err != nil:
		return "unknown"
	}
	return network(a) + via
}

// network returns an address, of IPv6 the network.
func network(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is6() && !a.IsLoopback() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// secure reports whether the browser reaches this server with TLS, its own or that of a proxy.
func (v *origins) secure(r *http.Request) bool {
	return r.TLS != nil || v.proxied(r) && r.Header.Get("X-Forwarded-Proto") == "https"
}

// cookieName is the name of the session's cookie. Cookies do not know ports, so two Dynos of one host tell theirs apart
// by the name. With TLS the prefix makes browsers refuse one that a neighbour or an unencrypted page planted.
func (v *origins) cookieName(r *http.Request) string {
	name := "dyno"
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" &&
		!strings.ContainsFunc(port, func(c rune) bool { return c < '0' || c > '9' }) {
		name += "-" + port
	}
	if v.secure(r) {
		name = "__Host-" + name
	}
	return name
}
