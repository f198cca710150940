// Package rest stands in for a client of Kubernetes, of which Prometheus' logging links one warning.
package rest

import "context"

// A WarningHandlerWithContext hears of warnings in answers.
type WarningHandlerWithContext interface {
	HandleWarningHeaderWithContext(ctx context.Context, code int, agent, message string)
}

// A WarningLogger logs nothing: there is no client that could be warned.
type WarningLogger struct{}

// HandleWarningHeaderWithContext does nothing.
func (WarningLogger) HandleWarningHeaderWithContext(context.Context, int, string, string) {}
