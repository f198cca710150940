package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
	"github.com/dyno-perf/dyno/internal/suggest"
)

// defaults are what a sandbox sets beside its own paths and port. Everything else is as the server ships it: a sandbox
// is there to measure servers, not Dyno's taste.
var defaults = []string{
	"bind-address=127.0.0.1",
	"skip-name-resolve",            // no password over the socket, none without one over TCP; see the package's text
	"innodb-buffer-pool-size=128M", // what both ship, said aloud: several sandboxes fit on a laptop
}

// reserved are the settings that make a sandbox what it is, and why.
var reserved = map[string]string{
	"datadir": "the sandbox has its own", "socket": "the sandbox has its own", "pid_file": "the sandbox has its own",
	"log_error": "the sandbox has its own", "tmpdir": "the sandbox has its own",
	"secure_file_priv": "the sandbox has its own",
	"user":             "the sandbox decides", "basedir": "it belongs to the build",
	"plugin_dir":      "it belongs to the build",
	"lc_messages_dir": "it belongs to the build", "character_sets_dir": "it belongs to the build",
	"chroot":               "not in a sandbox",
	"innodb_data_home_dir": "a sandbox keeps its files together", "innodb_log_group_home_dir": "a sandbox keeps its " +
		"files together",
	"innodb_undo_directory": "a sandbox keeps its files together", "innodb_doublewrite_dir": "a sandbox keeps its " +
		"files together",
	"defaults_file": "a sandbox reads no option files", "defaults_extra_file": "a sandbox reads no option files",
	"defaults_group_suffix": "a sandbox reads no option files", "no_defaults": "a sandbox reads no option files",
	"initialize": "it is done", "initialize_insecure": "it is done", "bootstrap": "it is done",
	"daemonize":         "the sandbox does it",
	"skip_grant_tables": "it lets everyone on this machine in",
	"help":              "not a setting", "version": "not a setting",
}

// initial are the settings that hold from the moment a data directory is made, so that each value needs a template of
// its own.
var initial = []string{
	"innodb_page_size", "innodb_data_file_path", "innodb_undo_tablespaces", "innodb_checksum_algorithm",
	"innodb_full_crc32", "lower_case_table_names", "default_table_encryption", "innodb_encrypt_log",
}

// Setting implements maker.Settings.
func (Maker) Setting(name string) (port bool, why string) {
	name = bareName(name)
	return name == "port", reason(name)
}

// bareName takes off what servers take for a word about the option that follows, any number of
// times (MySQL manual, Program Option Modifiers): enable_skip_grant_tables is skip_grant_tables.
// skip_ stays, which only switches off.
func bareName(name string) string {
	for _, word := range []string{"loose_", "enable_", "disable_", "maximum_", "autoset_"} {
		if rest, ok := strings.CutPrefix(name, word); ok {
			return bareName(rest)
		}
	}
	return name
}

// reason returns why a setting is reserved, "" if it is not. Servers take a unique beginning for the whole name, so the
// beginning of a reserved name is reserved too.
func reason(name string) string {
	if name == "port" {
		return ""
	}
	for _, r := range slices.Sorted(maps.Keys(reserved)) {
		if strings.HasPrefix(r, name) {
			return reserved[r]
		}
	}
	return ""
}

// CheckSettings implements maker.Settings.
func (Maker) CheckSettings(ctx context.Context, run maker.Runner, s maker.Server, opts []string) error {
	out, err := ask(ctx, run, s, opts, true)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	m := unknownSetting.FindStringSubmatch(out)
	if m == nil {
		if said := serverLog.Complaint(out); said != "" && strings.Contains(out, "[ERROR]") {
			return fmt.Errorf("%w: %s", maker.ErrSettings, said)
		}
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimLeft(m[1], "-"), "=")
	name = strings.ReplaceAll(name, "-", "_")
	e := fmt.Errorf("%w: %s knows no setting %q", maker.ErrSettings, s.Spec(), name)
	if near := nearestSetting(ctx, run, s, name); near != "" {
		return maker.Hint(e, fmt.Sprintf("did you mean %s?", near))
	}
	return maker.Hint(e, "leave it out, or write loose_"+name+" for servers that know it alone")
}

var unknownSetting = lazyregexp.New(`unknown (?:variable|option) '([^']*)'`)

// ask runs the server program with options and has it print its help, or check the options where it can, and returns
// what it said. MySQL's help passes over what it does not know; since 8.0.16 it has --validate-config (MySQL manual,
// Server Configuration Validation).
func ask(ctx context.Context, run maker.Runner, s maker.Server, opts []string, check bool) (string, error) {
	how := []string{"--verbose", "--help"}
	if check && !s.Flavor.IsMariaDB() && !maker.Older(s.Version, "8.0.16") {
		how = []string{"--secure-file-priv=", "--validate-config"}
	}
	out, err := run(ctx, command(s, slices.Concat(opts, []string{"--datadir=/nonexistent"}, how)...)...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", nil
	}
	return out, err
}

var listedSetting = lazyregexp.New(`(?m)^  --([a-z][a-z0-9_-]+)`)

// nearestSetting returns the setting of the build whose name is most like name, "" when none is.
func nearestSetting(ctx context.Context, run maker.Runner, s maker.Server, name string) string {
	out, err := ask(ctx, run, s, nil, false)
	if err != nil {
		return ""
	}
	var names []string
	for _, m := range listedSetting.FindAllStringSubmatch(out, -1) {
		names = append(names, strings.ReplaceAll(m[1], "-", "_"))
	}
	return suggest.Name(name, names, len(name)/3+1)
}
