package target

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

// Version is a server's version. For MariaDB it is MariaDB's own, without the 5.5.5- that old protocols put before it.
type Version struct{ Major, Minor, Patch int }

// String returns "10.11.19".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// AtLeast reports whether v is the given version or later.
func (v Version) AtLeast(major, minor, patch int) bool {
	switch {
	case v.Major != major:
		return v.Major > major
	case v.Minor != minor:
		return v.Minor > minor
	}
	return v.Patch >= patch
}

// ParseVersion reads the beginning of what VERSION() returns; a part that is not a number ends it.
func ParseVersion(text string) (v Version) {
	if strings.Contains(text, "MariaDB") {
		text = strings.TrimPrefix(text, "5.5.5-")
	}
	for i, p := range []*int{&v.Major, &v.Minor, &v.Patch} {
		n := 0
		for n < len(text) && n < 6 && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		*p, _ = strconv.Atoi(text[:n])
		if n == 0 || n == len(text) || text[n] != '.' || i == 2 {
			break
		}
		text = text[n+1:]
	}
	return v
}

// Facts is what a server says about itself. Text that it does not tell is empty.
type Facts struct {
	Flavor   dbms.Flavor `json:"flavor"`
	Version  Version     `json:"version"`
	Raw      string      `json:"raw"`     // VERSION()
	Comment  string      `json:"comment"` // @@version_comment
	Hostname string      `json:"hostname"`
	UUID     string      `json:"uuid,omitzero"` // @@server_uuid, which MariaDB has not
	Datadir  string      `json:"datadir"`
	Socket   string      `json:"socket,omitzero"`
	PidFile  string      `json:"pid_file,omitzero"`
	// Server tells this server from any other, copies of its data directory on other machines included.
	Server   string `json:"server"`
	Port     int    `json:"port"`
	ReadOnly bool   `json:"read_only,omitzero"`
	// Replica is true when the server says that it replicates from another. It says so only to an account that may see
	// replication: see ReplicaKnown.
	Replica bool `json:"replica,omitzero"`
	// ReplicaKnown is unknown when the account may not ask.
	ReplicaKnown known.Value[bool] `json:"replica_known,omitzero"`
	Uptime       time.Duration     `json:"uptime_ns"`
	User         string            `json:"user"`         // CURRENT_USER(): the account that the server took us for
	TLS          string            `json:"tls,omitzero"` // cipher of the connection; empty for plain text
	// Trust says what is known of who is at the other end of a connection over a network; empty for a Unix socket.
	Trust endpoint.Trust `json:"trust,omitzero"`
}

// own marks a statement of this package as Dyno's own.
func own(sql string) string { return sqltext.Tagged("target", "", sql) }

// longestFact bounds what a server says of itself and of Dyno's account, bytes: it is kept and told in many places.
const longestFact = 4 << 10

// longestValue bounds the text of a variable, bytes.
const longestValue = 64 << 10

// readFacts asks by SHOW, which every version answers without special privileges, and takes what is there.
func readFacts(ctx context.Context, c *sql.Conn) (Facts, map[string]string, error) {
	vars, err := pairs(ctx, c, own("SHOW GLOBAL VARIABLES"))
	if err != nil {
		return Facts{}, nil, err
	}
	var f Facts
	if err := c.QueryRowContext(ctx, own("SELECT VERSION(), CURRENT_USER()")).Scan(&f.Raw, &f.User); err != nil {
		return Facts{}, nil, err
	}
	f.Version, f.Comment = ParseVersion(f.Raw), vars["version_comment"]
	f.Flavor = dbms.Of(f.Raw, f.Comment)
	f.Hostname, f.UUID, f.Datadir = vars["hostname"], vars["server_uuid"], vars["datadir"]
	f.Socket, f.PidFile = vars["socket"], vars["pid_file"]
	for _, s := range []string{f.Raw, f.User, f.Comment, f.Hostname, f.UUID, f.Datadir, f.Socket, f.PidFile} {
		if len(s) > longestFact {
			return Facts{}, nil, fmt.Errorf("%w: more than %d bytes of what it is", errTooLong, longestFact)
		}
	}
	f.Port, _ = strconv.Atoi(vars["port"])
	f.ReadOnly = on(vars["read_only"]) || on(vars["super_read_only"])
	f.Server = f.identity()
	status, err := pairs(ctx, c, own("SHOW STATUS WHERE Variable_name IN ('Uptime','Ssl_cipher')"))
	if err != nil {
		return Facts{}, nil, err
	}
	sec, _ := strconv.ParseInt(status["uptime"], 10, 64)
	f.Uptime, f.TLS = time.Duration(sec)*time.Second, status["ssl_cipher"]
	if f.ReplicaKnown, err = replica(ctx, c, f.Flavor); err != nil {
		return Facts{}, nil, err
	}
	f.Replica = f.ReplicaKnown.Or(false)
	return f, vars, nil
}

// identity names the server by its uuid where it has one. A uuid alone is not enough: it lies in the data directory and
// is copied with it.
func (f Facts) identity() string {
	if f.UUID != "" {
		return f.UUID + "@" + f.Hostname + ":" + f.Datadir
	}
	return f.Hostname + ":" + strconv.Itoa(f.Port) + ":" + f.Datadir
}

func on(v string) bool { return v != "" && v != "OFF" && v != "0" && v != "NO" }

// replica asks whether the server replicates from another, with the words that its version knows.
func replica(ctx context.Context, c *sql.Conn, flavor dbms.Flavor) (known.Value[bool], error) {
	qs := []string{"SHOW REPLICA STATUS", "SHOW SLAVE STATUS"} // 8.4 knows only the first, 5.7 only the second
	if flavor.IsMariaDB() {
		qs = []string{"SHOW ALL SLAVES STATUS"}
	}
	for _, q := range qs {
		rows, err := c.QueryContext(ctx, own(q))
		if err != nil {
			if n, ok := ServerErrorNumber(err); !ok {
				return known.None[bool](), err
			} else if n == 1064 {
				continue
			}
			return known.None[bool](), nil // denied: it stays unknown
		}
		yes := rows.Next()
		err = rows.Err()
		rows.Close()
		return known.Of(yes), err
	}
	return known.None[bool](), nil
}

// maxVariables is ten times what any server has, plugins and all.
const maxVariables = 20_000

// pairs reads a result of two columns into a map, names in lower case.
func pairs(ctx context.Context, c *sql.Conn, q string) (map[string]string, error) {
	rows, err := c.QueryContext(ctx, q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	m := map[string]string{}
	for n := 0; rows.Next(); n++ {
		if n == maxVariables {
			return nil, fmt.Errorf("%w: more than %d rows", errTooLong, n)
		}
		var k string
		var v sql.NullString
		if err := rows.Scan(&k, &v); err != nil {
			return nil, err
		}
		if len(k) <= longestFact && len(v.String) <= longestValue { // no server has longer ones
			m[strings.ToLower(k)] = v.String
		}
	}
	return m, rows.Err()
}

// Variable returns a global variable as it was when the target was opened; not ok when the server has none of that
// name.
func (t *Target) Variable(name string) (value string, ok bool) {
	value, ok = t.vars[strings.ToLower(name)]
	return value, ok
}
