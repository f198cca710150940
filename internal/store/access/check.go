package access

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Report is the health of a file.
type Report struct {
	Path     string   `json:"path"`
	Exists   bool     `json:"exists"`
	Users    int      `json:"users"`
	Tokens   int      `json:"tokens"`
	Entries  int      `json:"entries"` // of the audit log
	Problems []string `json:"problems"`
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Text tells the report to people, in a line or a few.
func (r Report) Text() string {
	switch {
	case !r.OK():
		return fmt.Sprintf("users %s: DAMAGED:\n  %s\n", r.Path, strings.Join(r.Problems, "\n  "))
	case !r.Exists:
		return fmt.Sprintf("users %s: none\n", r.Path)
	}
	return fmt.Sprintf("users %s: %d users, %d tokens, %d entries of the audit log, sound\n", r.Path,
		r.Users, r.Tokens, r.Entries)
}

// Check examines a file and changes nothing: SQLite's integrity check, every password's form, and who may read it.
func Check(ctx context.Context, path string) (Report, error) {
	r := Report{Path: path}
	problem := func(format string, a ...any) { r.Problems = append(r.Problems, fmt.Sprintf(format, a...)) }
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := sqlitefile.Orphan(path); err != nil {
			problem("%v", err)
		}
		if marked(path) {
			problem("%v", ErrLost)
		}
		return r, nil
	} else if err != nil {
		return r, explain("check users", path, err)
	}
	r.Exists = true
	if m := st.Mode().Perm(); m&0o077 != 0 {
		problem("others may read it (mode %#o): chmod 600 %s", m, path)
	}
	if err := format.CheckHeader(path); err != nil {
		problem("%v", err)
		return r, nil
	}
	db, err := format.Connect(path)
	if err != nil {
		return r, explain("check users", path, err)
	}
	defer db.Close()
	if _, err := format.VersionOf(ctx, db); errors.Is(err, ErrNewer) || errors.Is(err, ErrOlder) {
		return r, explain("check users", path, err)
	} else if err != nil {
		problem("format: %v", err)
	}
	for _, q := range []string{"PRAGMA integrity_check(20)", "SELECT 'a session of a user that is gone' FROM " +
		"pragma_foreign_key_check"} {
		found, err := db.QueryContext(ctx, q)
		if err != nil {
			problem("%v", err)
			continue
		}
		for found.Next() {
			var s string
			if err := found.Scan(&s); err != nil {
				problem("%v", err)
			} else if s != "ok" {
				problem("%s", s)
			}
		}
		if err := errors.Join(found.Err(), found.Close()); err != nil {
			problem("%v", err)
		}
	}
	found, err := db.QueryContext(ctx, "SELECT name, password FROM user")
	if err != nil {
		problem("%v", err)
		return r, ctx.Err()
	}
	defer found.Close()
	for found.Next() {
		var name, phc string
		if err := found.Scan(&name, &phc); err != nil {
			problem("%v", err)
			continue
		}
		r.Users++
		if _, _, _, err := parsePHC(phc); err != nil {
			problem("password of %s: %v", name, err)
		}
	}
	if err := found.Err(); err != nil {
		problem("%v", err)
	}
	if err := db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM token), (SELECT count(*) FROM audit WHERE kind "+
		"<> 'outcome')").Scan(&r.Tokens, &r.Entries); err != nil {
		problem("%v", err)
	}
	return r, ctx.Err()
}
