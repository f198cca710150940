// Package wire speaks the client's side of the MySQL and MariaDB protocol on bytes alone: no connection, no clock, no
// waiting. Whoever owns a connection appends commands to a buffer and sends it, and feeds a Reader whatever arrives.
//
// Only raw sessions (target.Raw), which loads run on, use the protocol. Watching and diagnosis use a database/sql
// driver.
//
//	var r wire.Reader                    // one a connection
//	r.Caps = raw.Caps()
//	buf = wire.AppendPrepare(buf[:0], sql)
//	r.ExpectPrepare(&stmt)
//	buf = stmt.AppendExecute(buf[:0], args)
//	r.ExpectRows(&stmt)                  // or ExpectText after AppendQuery, ExpectOK after AppendPing
//	… send all of buf, then for each piece b that arrives:
//	r.Feed(b)
//	for {
//		ev, err := r.Next()
//		switch {
//		case err != nil:       // *Error: the server's refusal, the connection lives on and takes the next command.
//		                       // Anything else: what came is no protocol, close the connection.
//		case ev == wire.More:  // nothing of b is needed any longer: read again
//		case ev == wire.Row:   // r.Row() holds its values until the next call of Next, for result number r.Result()
//		case ev == wire.Done:  // r.OK() holds what the server said of the whole
//		}
//	}
//
// One command is under way at a time. b is not kept beyond the call of Next that answers More, Done or an error: one
// buffer may serve all connections of a thread. Nothing allocates in the steady state.
//
// Logging in is Handshake's part, which is fed in the same way; package target does so and hands out the descriptor
// (target.Raw).
//
// No length is believed before its bytes have arrived, and whatever a server sends, the answer is an error at worst:
// the fuzz targets begin with what real servers sent, kept in testdata/captures by `go test -update`. Dates and times
// read the same in both protocols, but for expressions on servers before MySQL 5.6, which tell decimals that their own
// text does not show.
//
// Source: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html and
// https://mariadb.com/docs/server/reference/clientserver-protocol.
package wire
