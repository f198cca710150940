// Package httpapi answers over HTTP: Prometheus' query API on the stored series (so that Grafana and promtool can use Dyno as a
// Prometheus server), /metrics and /probe for a Prometheus that scrapes, and JSON and server-sent events for everything else.
//
// It holds no data of its own but the last minute of the stream. What it needs it declares in Service; a part of it that is nil
// answers 501. docs/api.md describes every path.
//
// Without users the handler answers only requests that were sent to a loopback name, and everybody who can send one is an operator. With
// users, or on another address, a login or a token is needed: see access.go and docs/access.md.
package httpapi
