// Package tunnel reaches servers behind a jump host, through the ssh of the system: its configuration, keys, agent and known hosts
// are those that `ssh HOST` uses. Nothing is ever asked: what ssh would ask for, a password or whether a host's key is right, is
// an error that says so.
package tunnel
