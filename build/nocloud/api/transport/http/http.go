// Package http stands in for Google's client, which Prometheus' configuration links and Dyno never calls.
package http

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/api/option"
)

// NewTransport refuses.
func NewTransport(context.Context, http.RoundTripper, ...option.ClientOption) (http.RoundTripper, error) {
	return nil, errors.New("googleapi: not built in")
}
