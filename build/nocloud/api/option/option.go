// Package option names the options that Prometheus' configuration hands to Google's client, which is not built in.
package option

import "golang.org/x/oauth2/google"

// A ClientOption does nothing.
type ClientOption struct{}

// A CredentialsType names a kind of credentials file.
type CredentialsType string

// ServiceAccount is the one kind that is named.
const ServiceAccount CredentialsType = "service_account"

// WithScopes returns an option that does nothing.
func WithScopes(...string) ClientOption { return ClientOption{} }

// WithAuthCredentialsFile returns an option that does nothing.
func WithAuthCredentialsFile(CredentialsType, string) ClientOption { return ClientOption{} }

// WithCredentials returns an option that does nothing.
func WithCredentials(*google.Credentials) ClientOption { return ClientOption{} }
