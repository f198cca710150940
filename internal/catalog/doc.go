// Package catalog reads tables, columns, indexes and variables of a server into plain values.
// Packages capture, act, load and stand use them. It changes nothing on the server.
package catalog
