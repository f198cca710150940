// Package api holds what `dyno serve` answers to its description, openapi.yaml.
package api
