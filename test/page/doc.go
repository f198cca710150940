// Package page holds the tests of the page that `dyno serve` shows: real Chromium over the real program over a real
// server under load.
package page
