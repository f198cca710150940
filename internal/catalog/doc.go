// Package catalog reads tables, columns, indexes and variables of a server into plain values.
package catalog
