// Package endpoint says where a database server is, how to log in and who may be trusted to be it, and what can go
// wrong with a server. It makes connections up to the first byte that a server says. Its URLs, ports and accounts are
// yet those of the MySQL family alone.
package endpoint
