package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
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

var settingNames = lazyregexp.New(`^[a-z][a-z0-9_.]*$`)

// settings is what a user asked for, made ready: names in lower case with underscores, the port apart.
type settings struct {
	values map[string]string
	port   int // 0: any
}

// readSettings checks the settings of a Config for servers of a family. Its error joins all that is wrong with them.
func readSettings(f family, in map[string]string) (settings, error) {
	s := settings{values: map[string]string{}}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(in)) {
		value := in[key]
		name := strings.ReplaceAll(strings.ToLower(strings.TrimLeft(key, "-")), "-", "_")
		switch {
		case !settingNames.MatchString(name):
			errs = append(errs, fmt.Errorf("%q is not a setting's name", key))
		case strings.ContainsAny(value, "\n\r\x00"):
			errs = append(errs, fmt.Errorf("%s: the value has a line break", name))
		case f.reserved(name) != "":
			errs = append(errs, fmt.Errorf("%s cannot be set: %s", name, f.reserved(name)))
		case bareName(name) == "port":
			p, err := strconv.Atoi(value)
			if err != nil || p < 1 || p > 65535 {
				errs = append(errs, fmt.Errorf("port %q is not a number from 1 to 65535", value))
			}
			s.port = p
		default:
			if _, twice := s.values[name]; twice {
				errs = append(errs, fmt.Errorf("%s is set twice", name))
			}
			s.values[name] = value
		}
	}
	if len(errs) > 0 {
		return settings{}, fmt.Errorf("%w: %w", ErrSettings, inline(errs))
	}
	return s, nil
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

// why returns the reason a setting is reserved, "" if it is not. Servers take a unique beginning for the whole name, so
// the beginning of a reserved name is reserved too.
func why(name string) string {
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

// options returns the settings as options, in a fixed order.
func (s settings) options() []string {
	var opts []string
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		opts = append(opts, option(name, s.values[name]))
	}
	return opts
}

// initial returns those options that a template must be made with.
func (s settings) initial() []string {
	var opts []string
	for _, name := range initial {
		if v, ok := s.values[name]; ok {
			opts = append(opts, option(name, v))
		}
	}
	return opts
}

func option(name, value string) string {
	return "--" + strings.ReplaceAll(name, "_", "-") + "=" + value
}
