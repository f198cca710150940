package target

// What a connection of Dyno's asks about itself, and about one that was given up.
const (
	askSelf = "SELECT CONNECTION_ID(), @@max_connections, USER(), @@hostname, @@port, @@datadir /*!50700 , " +
		"@@server_uuid */"
	askThread        = "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
	askThreadMariaDB = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
	askUptime        = "SHOW GLOBAL STATUS LIKE 'Uptime'"
	askConnected     = "SHOW GLOBAL STATUS LIKE 'Threads_connected'"
	askLeft          = "SELECT INFO FROM information_schema.PROCESSLIST WHERE USER = SUBSTRING_INDEX(USER(), '@', 1) " +
		"AND ID = %d"
	askSession = "SELECT USER, HOST FROM information_schema.PROCESSLIST WHERE ID = %d"
)
