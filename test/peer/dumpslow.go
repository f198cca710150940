package peer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// Dumpslow returns the command that runs mysqldumpslow, a Perl script that comes with MySQL's client programs, or nil
// when neither PATH nor the MySQL of DYNO_TEST_MYSQL has it.
func Dumpslow() []string {
	path, err := exec.LookPath("mysqldumpslow")
	if err != nil {
		path = filepath.Join(os.Getenv("DYNO_TEST_MYSQL"), "usr/bin/mysqldumpslow")
		if _, err := os.Stat(path); err != nil {
			return nil
		}
	}
	return []string{"perl", path}
}

var dumpslowCount = regexp.MustCompile(`(?m)^Count: (\d+)  Time=`)

// DumpslowCount runs mysqldumpslow on a log and returns how many statements it counts.
func DumpslowCount(ctx context.Context, log string) (n uint64, err error) {
	c := exec.CommandContext(ctx, "perl", append(Dumpslow()[1:], log)...)
	out, err := c.Output()
	if err != nil {
		return 0, fmt.Errorf("run mysqldumpslow: %w", err)
	}
	return CountDumpslow(string(out))
}

// CountDumpslow returns how many statements a report of mysqldumpslow counts.
func CountDumpslow(text string) (n uint64, err error) {
	for _, m := range dumpslowCount.FindAllStringSubmatch(text, -1) {
		k, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read mysqldumpslow's report: %w", err)
		}
		n += k
	}
	return n, nil
}
