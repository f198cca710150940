// Package endpoint says where a database server is, how to log in and who may be trusted to be it, and what can go
// wrong with a server, whatever family it is of. It makes connections up to the first byte that a server says.
package endpoint
