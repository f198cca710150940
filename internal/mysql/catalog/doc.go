// Package catalog reads tables, columns, indexes and variables of a server into plain values. It
// changes nothing on the server.
package catalog
