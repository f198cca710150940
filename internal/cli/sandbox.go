package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/unit"
)

func newSandboxCommand(e *env) *cobra.Command {
	var dirs []string
	c := group("sandbox", "private servers: up, ls, limit, sh, down, rm, servers, install, data")
	c.PersistentFlags().StringArrayVar(&dirs, "server-dir", nil, "also look for server builds here; may be repeated")
	yard := func() (*sandbox.Yard, error) {
		y, err := e.app.Yard()
		if err != nil {
			return nil, err
		}
		y.ServerDirs = append(y.ServerDirs, dirs...)
		return y, nil
	}
	c.AddCommand(newSandboxUpCommand(e, yard), newSandboxLsCommand(e, yard), newSandboxLimitCommand(e, yard),
		newSandboxShCommand(e, yard), newSandboxDownCommand(e, yard), newSandboxRmCommand(e, yard),
		newSandboxServersCommand(e, yard), newSandboxInstallCommand(e, yard), newSandboxDataCommand(e, yard))
	return c
}

type yardFunc func() (*sandbox.Yard, error)

func newSandboxUpCommand(e *env, yard yardFunc) *cobra.Command {
	cfg := sandbox.Config{}
	var set []string
	var limits limitFlags
	var size amount
	c := &cobra.Command{
		Use:   "up [NAME]",
		Short: "start a private server and keep it until `down` or `rm`",
		Long: `Starts a private server with its own data directory, socket and port, or starts a stopped one again. Without a NAME it is
named after the flavor. It needs no password over its socket; use it as TARGET sandbox:NAME. A version in place of a NAME is
that of the server: postgres@17.`,
		Example: sandboxExamples() +
			"  dyno sandbox up --cpus 0 --cpu 0.97 --read-iops 500 --filesystem xfs --filesystem-size 8G",
		Args: args(0, 1),
	}
	c.Flags().StringVar(&cfg.Server, "server", "", "mariadb, mysql@9.7, postgres@17, or a path; dyno sandbox servers "+
		"lists them")
	c.Flags().StringArrayVar(&set, "set", nil, "a server setting as in my.cnf or postgresql.conf, KEY=VALUE; may be "+
		"repeated")
	limits.add(c.Flags())
	c.Flags().StringVar(&cfg.Filesystem, "filesystem", "", "put data and temporary files on a loop device with this "+
		"filesystem: ext4, xfs or btrfs; needs root")
	size.kind = "bytes"
	c.Flags().Var(&size, "filesystem-size", "size of the filesystem (default 4G)")
	c.RunE = func(c *cobra.Command, a []string) error {
		y, err := yard()
		if err != nil {
			return err
		}
		if cfg.Filesystem == "" && c.Flags().Changed("filesystem-size") {
			return usagef("--filesystem-size needs --filesystem")
		}
		cfg.CPUs, cfg.Limits, cfg.FilesystemBytes = limits.cpus, limits.over(limit.Limits{}, c.Flags().Changed),
			int64(size.n)
		if err := cfg.Limits.Check(); err != nil {
			return &exitError{exitUsage, err}
		}
		if len(set) > 0 {
			if cfg.Settings, err = settings(set); err != nil {
				return err
			}
		}
		if len(a) == 1 && strings.Contains(a[0], "@") && cfg.Server == "" {
			cfg.Server, a = a[0], nil
		}
		if len(a) == 1 {
			cfg.Name = a[0]
		} else {
			srv, err := y.Resolve(c.Context(), cfg.Server)
			if err != nil {
				return err
			}
			cfg.Name = string(srv.Flavor)
		}
		if err := sandbox.CheckName(cfg.Name); err != nil {
			return &exitError{exitUsage, err}
		}
		began := time.Now()
		s, err := y.Up(c.Context(), cfg, e.progress())
		if err != nil {
			return err
		}
		if e.json() {
			return e.writeJSON(s)
		}
		fmt.Fprintf(e.Out, "%s is ready (%s): %s %s on %s and port %d\n", s.Name,
			time.Since(began).Round(10*time.Millisecond), s.Server.Flavor, s.Server.Version, s.Socket, s.Port)
		for _, n := range s.Notes {
			e.remark("Note: %s", n)
		}
		for _, l := range s.Limits {
			e.remark("Limit %s", limitLine(l))
		}
		e.remark("Use it as TARGET sandbox:%s. Client: `dyno sandbox sh %[1]s`.", s.Name)
		return nil
	}
	return c
}

func newSandboxLsCommand(e *env, yard yardFunc) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "list private servers and their state", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			y, err := yard()
			if err != nil {
				return err
			}
			all, err := y.List(c.Context())
			if err != nil {
				return err
			}
			return listed(e, fmt.Sprintf("%-24s %-11s %-18s %-12s %s", "NAME", "STATE", "SERVER", "PROCESS", "SOCKET"),
				all,
				func(s sandbox.Sandbox) string {
					pid := "-"
					if s.PID != 0 {
						pid = fmt.Sprint(s.PID)
					}
					line := fmt.Sprintf("%-24s %-11s %-18s pid %-8s %s", s.Name, s.State, string(s.Server.Flavor)+" "+
						s.Server.Version, pid, s.Socket)
					if s.State == sandbox.Orphan {
						line += fmt.Sprintf("  (started by process %d, which has ended)", s.Owner)
					}
					if b := bounds(s); b != "" {
						line += "  " + b
					}
					if s.Problem != "" {
						line += "  (" + s.Problem + ")"
					}
					return line
				}, "No private servers. `dyno sandbox up` starts one.")
		},
	}
}

func newSandboxShCommand(e *env, yard yardFunc) *cobra.Command {
	return &cobra.Command{
		Use: "sh NAME", Short: "print the command that opens a client on a private server",
		Example: "  $(dyno sandbox sh shop)\n  $(dyno sandbox sh shop) -e 'SELECT VERSION()'", Args: args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			y, err := yard()
			if err != nil {
				return err
			}
			s, err := y.Find(c.Context(), a[0])
			if err != nil {
				return err
			}
			if s.State != sandbox.Running && s.State != sandbox.Orphan {
				e.remark("%s is %s; `dyno sandbox up %[1]s` starts it.", s.Name, s.State)
			} else if err := reachable(c.Context(), e.app, s); err != nil {
				// the client follows the socket's path, wherever it leads
				return err
			}
			words, pkg := s.Server.Client(), "mariadb-client-core"
			options := []string{"--no-defaults", "--user=root", "--socket=" + s.Socket}
			if x := s.Spec(); x.Scheme == "postgres" {
				pkg, options = "postgresql-client", []string{
					"--no-psqlrc", "--host=" + filepath.Dir(s.Socket),
					fmt.Sprintf("--port=%d", s.Port), "--username=" + x.User, "--dbname=" + x.Database,
				}
			}
			if len(words) == 0 {
				return fmt.Errorf("find a client for %s: there is none next to the server and none on PATH. Fix: "+
					"install %s", s.Name, pkg)
			}
			words = append(words, options...)
			for i := range words {
				words[i] = quoteShell(words[i])
			}
			fmt.Fprintln(e.Out, strings.Join(words, " "))
			return nil
		},
	}
}

// reachable returns an error when another program than the sandbox's server listens on its socket.
func reachable(ctx context.Context, a *app.App, s sandbox.Sandbox) error {
	if s.Server.Flavor.IsPostgres() {
		return s.Listens(ctx)
	}
	t, err := app.Inspection{App: a}.OpenSpec(ctx, s.Spec())
	if err == nil {
		t.Close()
	} else if app.KindOf(err) == endpoint.NotAServer {
		return err
	}
	return nil
}

// quoteShell quotes a word for the shell only where it needs that, so that $(dyno sandbox sh) works.
func quoteShell(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("/._-+=:@%", r))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func newSandboxDownCommand(e *env, yard yardFunc) *cobra.Command {
	return &cobra.Command{
		Use: "down NAME...", Short: "stop private servers, keep their data", Args: args(1, 1000),
		RunE: func(c *cobra.Command, a []string) error {
			y, err := yard()
			if err != nil {
				return err
			}
			return each(a, func(name string) error { return y.Down(c.Context(), name) })
		},
	}
}

func newSandboxRmCommand(e *env, yard yardFunc) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "rm NAME... | --all", Short: "stop private servers and remove everything they have",
		Args: args(0, 1000),
	}
	c.Flags().BoolVar(&all, "all", false, "every private server, every data set and every cached template; installed "+
		"server builds stay")
	c.RunE = func(c *cobra.Command, a []string) error {
		if all == (len(a) > 0) {
			return usagef("say which: names, or --all; usage: %s", c.UseLine())
		}
		y, err := yard()
		if err != nil {
			return err
		}
		if all {
			return y.RemoveAll(c.Context())
		}
		return each(a, func(name string) error { return y.Remove(c.Context(), name) })
	}
	return c
}

func each(names []string, f func(string) error) error {
	var errs []error
	for _, n := range names {
		errs = append(errs, f(n))
	}
	return errors.Join(errs...)
}

func newSandboxServersCommand(e *env, yard yardFunc) *cobra.Command {
	return &cobra.Command{
		Use: "servers", Short: "list the server builds on this machine", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			y, err := yard()
			if err != nil {
				return err
			}
			all, err := y.Servers(c.Context())
			if err != nil {
				return err
			}
			for _, dir := range y.ServerDirs {
				if abs, err := filepath.Abs(dir); err == nil { // a bare name would be a flavor
					dir = abs
				}
				if _, err := y.Resolve(c.Context(), dir); err != nil {
					e.remark("%v", err)
				}
			}
			return listed(e, fmt.Sprintf("%-20s %-11s %s", "SERVER", "ORIGIN", "PATH"), all,
				func(s sandbox.Server) string {
					return fmt.Sprintf("%-20s %-11s %s", s.Spec(), s.Origin, s.Path)
				},
				"No server builds. `dyno sandbox install mariadb` installs one, `dyno sandbox install --list` shows "+
					"what "+
					"is available.")
		},
	}
}

func newSandboxInstallCommand(e *env, yard yardFunc) *cobra.Command {
	var offers bool
	var from, sum string
	c := &cobra.Command{
		Use: "install SERVER | --from ARCHIVE | --list", Short: "download a server build and unpack it into Dyno's " +
			"folder",
		Long: `Downloads a server build, verifies it and unpacks it into Dyno's folder. Nothing is installed into the system, no service is
started, no privilege is needed. SERVER is a flavor with or without a version: mysql, mysql@8.0, mariadb@11.4, postgres@17. --list
shows all that are available for this machine: MySQL 5.5 to 9, MariaDB 10.1 to 11.8, PostgreSQL 15 to 18. They come
from Debian's mirror, Maven Central and npm's registry, as apt, Maven and npm reach them here.

--from takes a vendor's archive instead: a .tar.gz or .tar.xz of MySQL, Percona Server or MariaDB for Linux, a file or a URL. With
--sha256 the archive must have that sum; a URL needs it.`,
		Example: "  dyno sandbox install mysql@8.0\n  dyno sandbox install --from " +
			"mariadb-11.4.9-linux-systemd-x86_64.tar.gz\n" +
			"  dyno sandbox install --from https://mirror.example/mysql-8.4.7-linux-glibc2.28-x86_64.tar.xz --sha256 " +
			"SUM",
		Args: args(0, 1),
	}
	c.Flags().StringVar(&from, "from", "", "unpack the server of this vendor's archive, a file or a URL")
	c.Flags().StringVar(&sum, "sha256", "", "the SHA-256 that the archive must have")
	c.Flags().BoolVar(&offers, "list", false, "list what can be installed, with its source, licence and sizes")
	c.RunE = func(c *cobra.Command, a []string) error {
		ways := 0
		for _, way := range []bool{offers, len(a) > 0, from != ""} {
			if way {
				ways++
			}
		}
		if ways != 1 {
			return usagef("say which: a server, --from or --list; usage: %s", c.UseLine())
		}
		if sum != "" && from == "" {
			return usagef("--sha256 needs --from")
		}
		y, err := yard()
		if err != nil {
			return err
		}
		if offers {
			return listed(e, fmt.Sprintf("%-16s %-16s %-11s %s", "SERVER", "FROM", "LICENCE", "SIZE"), y.Offers(),
				func(o sandbox.Offer) string {
					return fmt.Sprintf("%-16s %-16s %-11s download %8s, on disk %8s", o.Spec(), o.From, o.Licence,
						unit.Bytes(float64(o.Download)), unit.Bytes(float64(o.Unpacked)))
				}, "No builds for this machine. Use an unpacked archive with --server-dir.")
		}
		var s sandbox.Server
		what := from
		if from != "" {
			var got string
			if s, got, err = y.InstallFrom(c.Context(), from, sum, e.progress()); got != "" && sum == "" {
				e.remark("SHA-256 of %s: %s", from, got)
			}
		} else {
			what = a[0]
			if o, ok := y.Missing(c.Context(), what); ok {
				e.remark("%s", o.Sentence())
			}
			s, err = y.Install(c.Context(), what, e.progress())
		}
		if errors.Is(err, context.Canceled) && c.Context().Err() != nil {
			return fmt.Errorf("install %s: stopped; nothing was installed: %w", what, context.Canceled)
		}
		if err != nil {
			return err
		}
		if e.json() {
			return e.writeJSON(s)
		}
		fmt.Fprintf(e.Out, "%s is installed: %s\n", s.Spec(), s.Path)
		return nil
	}
	return c
}

// sandboxExamples are those of each family.
func sandboxExamples() (text string) {
	for _, m := range app.Makers() {
		for _, x := range m.Traits().Examples {
			text += "  dyno sandbox up " + x + "\n"
		}
	}
	return text
}
