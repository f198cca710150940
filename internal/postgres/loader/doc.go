// Package loader loads PostgreSQL: it is the part of a load that package load asks a family of servers for, over
// the driver's own connections.
package loader
