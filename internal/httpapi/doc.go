// Package httpapi answers over HTTP: Prometheus' query API on the stored series (so that Grafana
// and promtool can use Dyno as a Prometheus server), /metrics and /probe for a scraping Prometheus,
// and JSON and server-sent events for everything else.
//
// It stores nothing except the last minute of the stream, and answers from the services. Handlers
// are grouped by what they serve; status says how each error is answered. docs/api.md describes
// every path.
//
// Without users, the handler answers only requests that were sent to a loopback name, and everyone
// who can send one is an operator. With users, or on another address, a login or a token is
// required: see access.go and docs/access.md.
package httpapi
