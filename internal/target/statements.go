package target

// What a connection of Dyno's asks about itself.
const (
	askID            = "SELECT CONNECTION_ID()"
	askThread        = "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
	askThreadMariaDB = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
)

// Statements returns the statements that targets send by themselves while others use them: when a session begins, and to find the
// server's process. Digests of statements have lost the comment that marks them as Dyno's.
func Statements() []string {
	return append(append([]string{askID, askThread, askThreadMariaDB}, identities(false)...), identities(true)...)
}
