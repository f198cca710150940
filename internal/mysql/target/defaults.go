package target

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Options is what defaults files say about reaching a server. Empty fields were not set.
type Options struct {
	User, Host, Socket, Database string
	Password                     endpoint.Secret
	Port                         int
	TLS                          endpoint.TLSMode
	CA, Cert, Key                string
	MinTLS                       string
	TakeServerKey                bool
	ServerKey                    string
	ConnectTimeout               time.Duration
	// Files are the files that were read, in order.
	Files []string
}

// fileReader reads defaults files and collects what they set.
type fileReader struct {
	groups []string
	o      Options
	open   []string // files being read, to detect loops
	read   int
}

const (
	maxDepth = 10   // of !include; the mysql client allows the same
	maxFiles = 1000 // read in all: more is a mistake
)

// DefaultsFiles returns the files that the mysql client reads without --defaults-file, in its order; later ones win.
// https://dev.mysql.com/doc/refman/9.0/en/option-files.html
func DefaultsFiles(home string) []string {
	f := []string{"/etc/my.cnf", "/etc/mysql/my.cnf"}
	if home != "" {
		f = append(f, filepath.Join(home, ".my.cnf"))
	}
	return f
}

// Defaults reads one defaults file as the mysql client does: the group [client] and those given ("client-mariadb"),
// !include and !includedir. A file of "" reads the usual ones, of which any may be missing; a file that is named must
// be there, and os.DevNull is none. Keys of other programs are passed over. Errors name file and line and never show a
// value.
func Defaults(file string, group ...string) (Options, error) {
	r := &fileReader{groups: append([]string{"client"}, group...)}
	if file == os.DevNull { // none at all
		return r.o, nil
	}
	if file != "" {
		abs, err := filepath.Abs(file)
		if err != nil {
			return Options{}, badFile(err)
		}
		if err := r.file(abs, 0); err != nil {
			return Options{}, badFile(err)
		}
		return r.o, nil
	}
	home, _ := os.UserHomeDir() // without a home there is no file in it
	for _, f := range DefaultsFiles(home) {
		if err := r.file(f, 0); err != nil && !missing(err, f) {
			return Options{}, badFile(err)
		}
	}
	return r.o, nil
}

func missing(err error, file string) bool {
	var p *fs.PathError
	return errors.As(err, &p) && p.Path == file && errors.Is(err, fs.ErrNotExist)
}

func badFile(err error) error {
	return &endpoint.Error{
		Op: "read defaults file", Kind: endpoint.BadTarget, Err: err,
		Fix: "the form is that of my.cnf: [client], then lines of key=value; --defaults-file names another file",
	}
}

// Groups returns the groups of defaults files, besides [client], that the mysql clients of the scheme read.
func Groups(s endpoint.Spec) []string {
	if s.Scheme == "mariadb" {
		return []string{"client-server", "client-mariadb", "mariadb-client"}
	}
	return nil
}

func (r *fileReader) file(name string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: !include goes deeper than %d files", name, maxDepth)
	}
	if slices.Contains(r.open, name) {
		return fmt.Errorf("%s: the file includes itself (%s)", name, strings.Join(append(r.open, name), " → "))
	}
	if r.read++; r.read > maxFiles {
		return fmt.Errorf("%s: more than %d files", name, maxFiles)
	}
	b, st, err := endpoint.ReadFile(name)
	if err != nil {
		return err
	}
	if st.Mode().Perm()&0o002 != 0 {
		// the mysql client passes such files over with a warning; a password must not come from there
		return fmt.Errorf("%s: every user may write to it: chmod o-w", name)
	}
	r.o.Files = append(r.o.Files, name)
	r.open = append(r.open, name)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	return r.parse(name, b, func(path string, dir bool) error {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		path = filepath.Clean(path)
		if !dir {
			return r.file(path, depth+1)
		}
		entries, err := os.ReadDir(path) // sorted by name
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".cnf") {
				if err := r.file(filepath.Join(path, e.Name()), depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// parse reads the lines of one file; include is called for !include and !includedir.
func (r *fileReader) parse(name string, b []byte, include func(path string, dir bool) error) error {
	in, grouped := false, false
	line := 0
	at := func(format string, a ...any) error {
		return fmt.Errorf("%s:%d: %w", name, line, fmt.Errorf(format, a...))
	}
	s := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(b, []byte("\ufeff"))))
	s.Buffer(nil, endpoint.MaxFile+2)
	for s.Scan() {
		line++
		text := strings.TrimSpace(s.Text())
		switch {
		case text == "" || text[0] == '#' || text[0] == ';':
			continue
		case !utf8.ValidString(text):
			return at("not valid UTF-8")
		case text[0] == '!':
			word, path, _ := strings.Cut(text, " ")
			if i := strings.IndexByte(text, '\t'); i >= 0 && i < len(word) {
				word, path = text[:i], text[i+1:]
			}
			path = strings.TrimSpace(path)
			if word != "!include" && word != "!includedir" {
				return at("unknown directive: !include FILE and !includedir DIRECTORY are known")
			}
			if path == "" {
				return at("%s without a path", word)
			}
			if err := include(path, word == "!includedir"); err != nil {
				return at("%s: %w", word, err)
			}
		case text[0] == '[':
			end := strings.IndexByte(text, ']')
			if end < 0 {
				return at("the [ of a group is not closed")
			}
			if rest := strings.TrimSpace(text[end+1:]); rest != "" && rest[0] != '#' && rest[0] != ';' {
				return at("something follows the ] of a group")
			}
			in, grouped = slices.Contains(r.groups, strings.ToLower(strings.TrimSpace(text[1:end]))), true
		case !grouped:
			return at("a line before the first [group]")
		case in:
			if err := r.option(text); err != nil {
				return at("%w", err)
			}
		}
	}
	if err := s.Err(); err != nil {
		return at("%w", err)
	}
	return nil
}

// option reads one line of a group that concerns us.
func (r *fileReader) option(text string) error {
	key, value, has := strings.Cut(text, "=")
	key = strings.ToLower(strings.TrimSpace(key))
	if i := strings.IndexByte(key, '#'); i >= 0 {
		key, has, value = strings.TrimSpace(key[:i]), false, "" // a comment after a key without value
	}
	key = strings.ReplaceAll(key, "_", "-")
	key = strings.TrimPrefix(key, "loose-")
	value = optionValue(value)
	need := func(dst *string) error {
		if !has {
			return fmt.Errorf("%s needs a value", key)
		}
		*dst = value
		return nil
	}
	o := &r.o
	switch key {
	case "user":
		return need(&o.User)
	case "host":
		return need(&o.Host)
	case "socket":
		return need(&o.Socket)
	case "database":
		return need(&o.Database)
	case "password":
		o.Password = endpoint.NewSecret(value) // a bare "password" means: ask
	case "port":
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil {
			return errors.New("port is not a number from 0 to 65535")
		}
		o.Port = int(n)
	case "connect-timeout":
		d, err := endpoint.ParseTimeout(value)
		if err != nil {
			return err
		}
		o.ConnectTimeout = d
	case "ssl-ca":
		return need(&o.CA)
	case "ssl-cert":
		return need(&o.Cert)
	case "ssl-key":
		return need(&o.Key)
	case "tls-version":
		v, err := endpoint.ParseTLSVersion(value)
		if err != nil {
			return err
		}
		o.MinTLS = v
	case "get-server-public-key", "enable-get-server-public-key", "skip-get-server-public-key",
		"disable-get-server-public-key":
		yes, err := endpoint.Boolean(value, has)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		o.TakeServerKey = yes != (strings.HasPrefix(key, "skip") || strings.HasPrefix(key, "disable"))
	case "server-public-key-path":
		return need(&o.ServerKey)
	case "ssl-mode":
		m, err := endpoint.ParseTLSMode(value)
		if err != nil {
			return err
		}
		o.TLS = m
	case "ssl", "enable-ssl", "skip-ssl", "disable-ssl":
		yes, err := endpoint.Boolean(value, has)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if strings.HasPrefix(key, "skip") || strings.HasPrefix(key, "disable") {
			yes = !yes
		}
		switch {
		case !yes:
			o.TLS = endpoint.TLSDisabled
		case o.TLS == endpoint.TLSDefault || o.TLS == endpoint.TLSDisabled || o.TLS == endpoint.TLSPreferred:
			o.TLS = endpoint.TLSRequired
		}
	case "ssl-verify-server-cert", "enable-ssl-verify-server-cert", "skip-ssl-verify-server-cert",
		"disable-ssl-verify-server-cert":
		yes, err := endpoint.Boolean(value, has)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if strings.HasPrefix(key, "skip") || strings.HasPrefix(key, "disable") {
			yes = !yes
		}
		switch {
		case yes:
			o.TLS = endpoint.TLSVerifyFull
		case o.TLS == endpoint.TLSVerifyFull || o.TLS == endpoint.TLSDefault:
			o.TLS = endpoint.TLSRequired
		}
	}
	return nil
}

// OptionValue writes a value of a defaults file so that a # and blanks in it are no comment and no end.
func OptionValue(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\b", `\b`).Replace(v) +
		`"`
}

// optionValue takes a comment, quotes and escapes off a value, by the mysql client's rules: a # outside of quotes
// begins a comment, with or without a space before it, and only quotes around the whole value are taken off.
// https://dev.mysql.com/doc/refman/9.0/en/option-files.html#option-file-syntax
func optionValue(v string) string {
	var quote byte
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case c == quote:
			quote = 0
		case quote != 0:
		case c == '\'' || c == '"':
			quote = c
		case c == '#':
			v = v[:i]
		}
	}
	v = strings.TrimSpace(v)
	if n := len(v); n > 1 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
		v = v[1 : n-1]
	}
	return unescapeOption(v)
}

// unescapeOption replaces \b \t \n \r \\ \s \" \'; a backslash before anything else stays, as Windows paths want it.
func unescapeOption(v string) string {
	if !strings.Contains(v, `\`) {
		return v
	}
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 == len(v) {
			b.WriteByte(v[i])
			continue
		}
		i++
		switch v[i] {
		case 'b':
			b.WriteByte('\b')
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 's':
			b.WriteByte(' ')
		case '\\', '"', '\'':
			b.WriteByte(v[i])
		default:
			b.WriteByte('\\')
			b.WriteByte(v[i])
		}
	}
	return b.String()
}
