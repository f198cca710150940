// Package nodeexporter reads the machine of a server from the page of a node_exporter: its figures under the names that
// they have there, what a snapshot holds of a machine, and whether it is the machine of that server at all.
package nodeexporter
