package endpoint

import (
	"errors"
	"net/url"
	"strings"
)

// parseExporter reads the URL of a node_exporter into its one form. The error does not show the text: a password may
// stand in it.
func parseExporter(text string) (string, error) {
	bad := func(why string) (string, error) {
		return "", errors.New("node-exporter: " + why + "; the form is http://db1:9100/metrics")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Opaque != "":
		return bad("it is not a URL")
	case u.User != nil:
		return bad("the URL holds a user or a password, which Dyno neither stores nor sends: have node_exporter " +
			"answer Dyno's address without a login, by a firewall or a listener of its own (--web.listen-address)")
	case !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https"):
		return bad("it does not begin with http:// or https://")
	case u.Hostname() == "":
		return bad("no host is named")
	case u.Fragment != "":
		return bad("a # means nothing in it")
	}
	for name := range u.Query() {
		for _, s := range []string{"pass", "pwd", "secret", "token", "key"} {
			if strings.Contains(strings.ToLower(name), s) {
				return bad("the URL holds a password or a token, which Dyno neither stores nor sends")
			}
		}
	}
	if u.Path == "" {
		u.Path = "/metrics"
	}
	one := u.String()
	if v, err := url.Parse(one); err != nil || v.String() != one {
		return bad("it is not a URL")
	}
	return one, nil
}

// WithExporter returns a TARGET's URL with the URL of a node_exporter, which ParseURL then checks.
func WithExporter(target, exporter string) string {
	sign := "?"
	if strings.Contains(target, "?") {
		sign = "&"
	}
	return target + sign + "node-exporter=" + legible.Replace(escapePath(exporter))
}
