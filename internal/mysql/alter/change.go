package alter

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
)

// Alteration is one ALTER TABLE.
type Alteration struct {
	Table schema.Ref
	// SQL is what follows the table's name, ALGORITHM and LOCK left out: ADD INDEX `k` (`a`).
	SQL string
	// Algorithm is INPLACE, when empty, or NOCOPY or INSTANT. COPY is refused unless Blocking is set: it stops all
	// writers.
	Algorithm string
	// Lock is NONE, when empty, or SHARED with Blocking. Nothing else lets all users go on.
	Lock string
	// Blocking says that writers of the table may have to wait until the change is made: the server copies the table
	// under LOCK=SHARED.
	Blocking bool
	// LockWait bounds each wait for the table's metadata lock before the server is at work, during which every new
	// statement on the table waits too: 1 to 5 s in whole seconds, 2 s when zero.
	LockWait time.Duration
	// Attempts bounds how often the lock is tried for, 10 when zero.
	Attempts int

	last time.Duration // bounds the wait for the lock at the end, lastWait when zero
	long time.Duration // a build that took longer is not repeated when it is lost, longBuild when zero
	// a change that is stopped and not seen on the server any more is waited for so long, deafServer when zero
	deaf time.Duration
}

const (
	defaultLockWait = 2 * time.Second
	minLockWait     = time.Second
	maxLockWait     = 5 * time.Second
	defaultAttempts = 10
	lastWait        = time.Minute
	longBuild       = time.Minute
	deafServer      = time.Minute
	mostSaid        = 5 // errors that are told while a change is stopped
)

// complete fills what is left out and reports what cannot be.
func (c Alteration) complete() (Alteration, error) {
	if c.Algorithm == "" {
		c.Algorithm = map[bool]string{false: "INPLACE", true: "COPY"}[c.Blocking]
	}
	if c.Lock == "" {
		c.Lock = map[bool]string{false: "NONE", true: "SHARED"}[c.Blocking]
	}
	if c.LockWait == 0 {
		c.LockWait = defaultLockWait
	}
	if c.Attempts == 0 {
		c.Attempts = defaultAttempts
	}
	c.last, c.long, c.deaf = cmp.Or(c.last, lastWait), cmp.Or(c.long, longBuild), cmp.Or(c.deaf, deafServer)
	c.Algorithm, c.Lock = strings.ToUpper(c.Algorithm), strings.ToUpper(c.Lock)
	var errs []error
	if c.Table.Table == "" || c.Table.Schema == "" {
		errs = append(errs, errors.New("the table needs schema and name"))
	}
	if strings.TrimSpace(c.SQL) == "" {
		errs = append(errs, errors.New("nothing to change"))
	}
	if c.Algorithm != "INPLACE" && c.Algorithm != "NOCOPY" && c.Algorithm != "INSTANT" &&
		!(c.Blocking && c.Algorithm == "COPY") {
		errs = append(errs, fmt.Errorf("algorithm %s may stop the table's users: INPLACE, NOCOPY and INSTANT are "+
			"accepted", c.Algorithm))
	}
	if c.Lock != "NONE" && !(c.Blocking && c.Lock == "SHARED") {
		errs = append(errs, fmt.Errorf("lock %s stops the table's users: only NONE is accepted", c.Lock))
	}
	if c.LockWait < minLockWait || c.LockWait > maxLockWait {
		errs = append(errs, fmt.Errorf("a wait of %v for the metadata lock is outside %v to %v", c.LockWait,
			minLockWait, maxLockWait))
	}
	if c.Attempts < 1 {
		errs = append(errs, fmt.Errorf("%d attempts", c.Attempts))
	}
	return c, errors.Join(errs...)
}

// Statement returns the statement as it is sent, algorithm and lock included. It is for an Alteration that Native
// accepts.
func (c Alteration) Statement() string {
	c, _ = c.complete()
	s := "ALTER TABLE " + ddl.Name(c.Table) + " " + strings.TrimSpace(c.SQL) + ", ALGORITHM=" + c.Algorithm
	if c.Algorithm != "INSTANT" { // which takes no lock, and whose LOCK clause MySQL refuses
		s += ", LOCK=" + c.Lock
	}
	return s
}
