package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// readConfigFile takes options from a file as sysbench does: a line each, name=value, without dashes; # begins a
// comment. What the command line says comes first.
func readConfigFile(path string, f *pflag.FlagSet) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read --config-file: %w", err)
	}
	defer file.Close()
	given := map[string]bool{}
	f.Visit(func(x *pflag.Flag) { given[x.Name] = true })
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = string(normalName(f, strings.TrimLeft(strings.TrimSpace(name), "-")))
		x := f.Lookup(name)
		switch {
		case x == nil:
			return usagef("%s, line %d: unknown option %s%s", path, n, name, meant(name, flagNames(f), ""))
		case name == "mysql-password":
			return usagef("%s, line %d: %s: no password is taken from here; put it into a file for --defaults-file, "+
				"as \"password\" below [client], or into DYNO_PASSWORD", path, n, name)
		case name == "config-file" || given[name]:
			continue
		case !ok && x.NoOptDefVal == "":
			return usagef("%s, line %d: %s has no value: it takes %s=…", path, n, name, name)
		case !ok:
			value = x.NoOptDefVal
		}
		if err := f.Set(name, strings.Trim(strings.TrimSpace(value), `"'`)); err != nil {
			return usagef("%s, line %d: %v", path, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read --config-file %s: %w", path, err)
	}
	return nil
}

// flagNames lists the options that a user may give.
func flagNames(f *pflag.FlagSet) []string {
	var names []string
	f.VisitAll(func(x *pflag.Flag) {
		if !x.Hidden {
			names = append(names, x.Name)
		}
	})
	return names
}
