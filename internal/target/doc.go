// Package target connects to a server and knows it: its flavor, version, capabilities, and the sessions to work on.
package target
