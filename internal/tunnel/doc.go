// Package tunnel reaches servers behind a jump host, with the ssh of the system and the same
// configuration, keys, agent and known hosts as `ssh HOST`. It never prompts: if ssh would ask for
// a password, or whether a host key is right, it returns an error that says so.
package tunnel
