// Package target connects to a server, detects its flavor, version and capabilities, and provides
// the sessions to work on. It does not decide what to send.
package target
