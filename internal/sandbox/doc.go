// Package sandbox starts and ends private servers: own data directory, own socket and port, own settings.
//
// A Yard is the directory that holds all sandboxes of one user, and knows the server builds they can be made of. Its layout:
//
//	sandboxes/NAME/sandbox.json  what it is and which process serves it, written before the server starts
//	sandboxes/NAME/data          the data directory, of the account the server runs as
//	sandboxes/NAME/run           socket and pid file; elsewhere, in a short path of its own, when this one is too long for a socket
//	sandboxes/NAME/log           error.log
//	sandboxes/NAME/console       what the server says before it opens that
//	sandboxes/NAME/files, tmp    secure_file_priv and tmpdir
//	sandboxes/NAME/data.img      where data and tmp are directories of a filesystem of their own
//	templates/KEY                a data directory just initialised, to copy from: one per server build and initial setting
//	data/KEY                     a data directory with prepared rows that SaveData kept, to copy from and to restore to
//	servers/FLAVOR-VERSION       a server build that Install unpacked beside the system
//
// Run by root, a server gives up root for an account of its own, dyno or user 65521. It belongs to no session and survives
// the end of the program that started it; a later one finds and stops it by its recorded identity (process id, start time and
// boot), never by its name.
//
// The account root@localhost has no password and is reached over the socket alone, whose directory only the server's account
// (and root) may enter: the server listens on the loopback port with skip_name_resolve, so that an address never counts as
// localhost. To log in over TCP, create an account there, or set skip_name_resolve=OFF and let everyone on this machine in.
// secure_file_priv keeps what the server reads and writes as files to the sandbox.
package sandbox
