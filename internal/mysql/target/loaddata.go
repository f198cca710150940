package target

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"io"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// LoadData streams rows into a table by LOAD DATA LOCAL INFILE: into is the statement from INTO TABLE on, rows what it
// calls the file. It returns how many rows the server says it took. The server turns errors of the rows into warnings,
// and leaves out rows whose key is there: compare the number with the rows sent, and ask for warnings.
//
// When rows fails, so does the call, and what was read before is in the table unless the caller rolls back. Servers may
// not allow it (local_infile): see NoLoadData. https://dev.mysql.com/doc/refman/9.0/en/load-data.html
func (s *Session) LoadData(ctx context.Context, into string, rows io.Reader) (affected int64, err error) {
	if err := s.watch(ctx); err != nil {
		return 0, err
	}
	// The driver finds the reader by name among those of the whole process, and sends it to whichever server asks for
	// that name.
	name := "dyno-" + rand.Text()
	feed := &feed{Reader: rows}
	mysql.RegisterReaderHandler(name, func() io.Reader { return feed })
	defer mysql.DeregisterReaderHandler(name)
	r, err := shield(s.net, func() (driver.Result, error) {
		return s.conn.Exec("LOAD DATA LOCAL INFILE 'Reader::"+name+"' "+into, nil)
	})
	switch {
	case feed.err != nil: // it comes back from the driver, and is no matter of the server
		return 0, feed.err
	case err != nil:
		return 0, s.err("load data", err)
	}
	return r.RowsAffected()
}

// feed keeps the error of its reader.
type feed struct {
	io.Reader
	err error
}

func (f *feed) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// NoLoadData reports whether err says that the server, a proxy or an account does not take LOAD DATA LOCAL INFILE at
// all.
func NoLoadData(err error) bool {
	switch n, _ := ServerErrorNumber(err); n {
	case 1148, // ER_NOT_ALLOWED_COMMAND: before MySQL 8.0, MariaDB
		3948, // ER_CLIENT_LOCAL_FILES_DISABLED
		3950, // ER_LOAD_INFILE_CAPABILITY_DISABLED
		4166: // ER_LOAD_INFILE_CAPABILITY_DISABLED of MariaDB
		return true
	case 1235: // ER_NOT_SUPPORTED_YET, from proxies
		return strings.Contains(strings.ToUpper(err.Error()), "LOAD DATA")
	}
	return false
}
