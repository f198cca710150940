package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
	"github.com/dyno-perf/dyno/internal/suggest"
)

// reserved are the settings that make a sandbox what it is, and why.
var reserved = map[string]string{
	"data_directory": "the sandbox has its own", "config_file": "the sandbox has its own",
	"hba_file": "the sandbox has its own", "ident_file": "the sandbox has its own",
	"external_pid_file":       "the sandbox has its own",
	"unix_socket_directories": "the sandbox has its own", "unix_socket_group": "the sandbox decides",
	"unix_socket_permissions": "the sandbox decides",
	"logging_collector":       "the sandbox has its own log", "log_directory": "the sandbox has its own log",
	"log_filename": "the sandbox has its own log", "log_destination": "the sandbox has its own log",
	"event_source":     "not in a sandbox",
	"wal_segment_size": "a sandbox has 16 MB, as initdb ships it", "block_size": "it belongs to the build",
	"data_checksums": "a sandbox has what initdb ships",
	"single":         "not a setting", "boot": "not a setting", "check": "not a setting", "forkboot": "not a setting",
	"describe_config": "not a setting", "help": "not a setting", "version": "not a setting",
}

// Setting implements maker.Settings. It takes names whole: PostgreSQL knows no abbreviations of them.
func (Maker) Setting(name string) (port bool, why string) { return name == "port", reserved[name] }

var (
	unknownSetting = lazyregexp.New(`unrecognized configuration parameter "([^"]*)"`)
	fatal          = lazyregexp.New(`(?m)FATAL: +(.*)$(?:\n.*HINT: +(.*)$)?`)
)

// CheckSettings implements maker.Settings: it has the program print one setting, for which it reads all that it is
// given, but no data directory. What belongs to a module is not read before the server loads that.
func (Maker) CheckSettings(ctx context.Context, run maker.Runner, s maker.Server, opts []string) error {
	argv := slices.Concat([]string{"-C", "port", "-c", "config_file=/dev/null", "-c", "data_directory=/"}, opts)
	out, err := run(ctx, append(s.Launcher(), argv...)...)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if m := unknownSetting.FindStringSubmatch(out); m != nil {
		e := fmt.Errorf("%w: %s knows no setting %q", maker.ErrSettings, s.Spec(), m[1])
		if near := nearest(ctx, run, s, m[1]); near != "" {
			return maker.Hint(e, fmt.Sprintf("did you mean %s?", near))
		}
		return maker.Hint(e, "leave it out; those of a module begin with the module's name and a dot")
	}
	if m := fatal.FindStringSubmatch(out); m != nil {
		e := fmt.Errorf("%w: %s", maker.ErrSettings, m[1])
		if m[2] != "" {
			return maker.Hint(e, strings.ToLower(m[2][:1])+strings.TrimSuffix(m[2][1:], "."))
		}
		return e
	}
	return nil // its start will tell
}

// nearest returns the setting of the build whose name is most like name, "" when none is.
func nearest(ctx context.Context, run maker.Runner, s maker.Server, name string) string {
	out, err := run(ctx, append(s.Launcher(), "--describe-config")...)
	if err != nil {
		return ""
	}
	var names []string
	for line := range strings.Lines(out) {
		setting, _, _ := strings.Cut(line, "\t")
		names = append(names, setting)
	}
	return suggest.Name(name, names, len(name)/3+1)
}
