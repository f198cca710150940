// Package sandbox starts and stops private servers, each with its own data directory, socket, port
// and settings. They serve demos, experiments and proofs. It does not manage servers that it did
// not start.
//
// A Yard is the root directory of one user's sandboxes, and finds the server builds for them. Its
// layout:
//
//	sandboxes/NAME/sandbox.json  what it is and which process serves it, written before the server starts
//	sandboxes/NAME/data          the data directory, owned by the account of the server
//	sandboxes/NAME/run socket and pid file; elsewhere, in a short path of its own, if this one is too long for a
//	socket
//	sandboxes/NAME/log           error.log
//	sandboxes/NAME/console       output of the server before it opens error.log
//	sandboxes/NAME/files, tmp    secure_file_priv and tmpdir
//	sandboxes/NAME/data.img      the filesystem that contains data and tmp, if they have their own
//	templates/KEY                a new, initialized data directory to copy: one per server build and initial setting
//	data/KEY                     a data directory with prepared rows, stored by SaveData, to copy and to restore
//	servers/FLAVOR-VERSION       a server build that Install unpacked without installing it in the system
//
// If root starts it, a server drops root for its own account, dyno or user 65521. A server belongs
// to no session and continues after the program that started it. A later program finds and stops it
// by its recorded identity (process id, start time and boot), never by its name.
//
// The account root@localhost has no password and is reachable only over the socket. Only the
// server's account (and root) may enter the directory of the socket. The server listens on the
// loopback port with skip_name_resolve, so that an address never counts as localhost. To log in
// over TCP, create an account there, or set skip_name_resolve=OFF and let in everyone on this
// machine. secure_file_priv restricts the files that the server reads and writes to the sandbox.
//
// PostgreSQL's superuser postgres logs in the same way; over TCP every role needs a password, and
// none has one. What differs between the families of servers is in their makers, see package maker.
package sandbox
