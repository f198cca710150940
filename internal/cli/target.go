package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

func newTargetCommand(e *env) *cobra.Command {
	return group("target", "the inventory of servers: add, ls, rm; redact statements, check what is observable, trust "+
		"a certificate, print grants",
		newTargetAddCommand(e), newTargetLsCommand(e), newTargetRmCommand(e), newTargetRedactCommand(e),
		newTargetCheckCommand(e), newTargetTrustCommand(e), newTargetGrantsCommand(e))
}

func newTargetAddCommand(e *env) *cobra.Command {
	var t ledger.Target
	var replace bool
	var exporter string
	c := &cobra.Command{
		Use:   "add NAME URL",
		Short: "add a server to the inventory and test the login",
		Long: `Stores how to reach a server and where its password is, never the password: that stays in a defaults file
(--from-defaults), in an environment variable (--password-env), or is prompted for. Then it tests the login; a server
that does not answer is added anyway, and so is one that refuses the login, with exit code 1.`,
		Example: "  dyno target add shop 'mysql://dyno@db1:3306?tls=verify-full&ssl-ca=/etc/ssl/shop-ca.pem' " +
			"--password-env SHOP_PASSWORD\n" +
			"  dyno target add far mysql://dyno@db2 --node-exporter http://db2:9100/metrics",
		Args: args(2, 2),
	}
	c.Flags().StringVar(&t.Defaults, "from-defaults", "", "my.cnf that holds its user and password")
	c.Flags().StringVar(&t.PasswordEnv, "password-env", "", "environment variable that will hold its password")
	c.Flags().StringVar(&exporter, "node-exporter", "", "URL of a node_exporter on its machine: "+
		"http://db1:9100/metrics")
	c.Flags().BoolVar(&t.Redact, "redact", false, "store and show no literals of its statements")
	c.Flags().BoolVar(&replace, "replace", false, "replace the server that has NAME")
	c.RunE = func(c *cobra.Command, a []string) error {
		t.Name, t.URL = a[0], a[1]
		if exporter != "" {
			t.URL = endpoint.WithExporter(t.URL, exporter)
		}
		was, err := app.Inventory{App: e.app}.Remembered(c.Context(), t.Name)
		if err != nil {
			return err
		}
		t.Redact = t.Redact || was.Redact && !c.Flags().Changed("redact") // it is not lost by the way
		t, err := app.Inventory{App: e.app}.AddTarget(c.Context(), t, replace)
		if errors.Is(err, app.ErrTargetExists) {
			return usagef("%w; Fix: choose another name, or use --replace", err)
		}
		if err != nil {
			if k := app.KindOf(err); k == endpoint.BadTarget || k == endpoint.Unsupported {
				return &exitError{exitUsage, err}
			}
			return err
		}
		if was.URL != "" && was != t {
			e.remark("%s was %s; it is replaced.", was.Name, was.URL)
		}
		e.remark("Added %s: %s. `dyno target check %[1]s` shows what can be observed there.", t.Name, t.URL)
		if text := app.Unverified(t.URL); text != "" {
			e.remark("%s", text)
		}
		return tryAdded(c.Context(), e, t.Name)
	}
	return c
}

// addedTime is how long a server that was just added may take to answer.
const addedTime = 10 * time.Second

// tryAdded tells whether a server that was just added lets Dyno in, and what it hides. It stays in the inventory either
// way: it may be down, or the password may not be there yet. A refused login is an error: somebody has to do something.
func tryAdded(ctx context.Context, e *env, name string) error {
	ctx, cancel := context.WithTimeout(ctx, addedTime)
	defer cancel()
	t, err := e.app.Open(ctx, name, app.Login{})
	if app.KindOf(err) == endpoint.AuthFailed {
		return fmt.Errorf("%s stays in the inventory, but %w", name, err)
	}
	if err != nil {
		e.remark("It cannot be reached now: %v.", err)
		if fix := app.HintOf(err); fix != "" {
			e.remark("Fix: %s", fix)
		}
		return nil
	}
	defer t.Close()
	x, err := app.Inspection{App: e.app}.CheckOpen(ctx, t)
	if err != nil {
		e.remark("It was reached, but checking what can be observed failed: %v.", err)
		return nil
	}
	e.remark("Connected: %s %s, as %s.", x.Flavor, x.Version, x.User)
	if denied := diagnose.Denied(x.Sources); denied != "" {
		e.remark("%s", denied)
	}
	return nil
}

func newTargetLsCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "list the inventory", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			l, err := e.app.Ledger(c.Context())
			if err != nil {
				return err
			}
			all, err := l.Targets(c.Context())
			if err != nil {
				return err
			}
			return listed(e, fmt.Sprintf("%-16s %-50s %s", "NAME", "URL", "LOGIN"), all, func(t ledger.Target) string {
				from := ""
				switch {
				case t.PasswordEnv != "":
					from = "password in $" + t.PasswordEnv
				case t.Defaults == os.DevNull: // found on this machine, and it let in without one
					from = "without a password"
				case t.Defaults != "":
					from = "login from " + t.Defaults
				}
				if t.Redact {
					from = strings.TrimPrefix(from+", statements redacted", ", ")
				}
				return fmt.Sprintf("%-16s %-50s %s", t.Name, t.URL, from)
			}, "The inventory is empty. `dyno target add NAME URL` adds a server.")
		},
	}
}

func newTargetRedactCommand(e *env) *cobra.Command {
	var off bool
	c := &cobra.Command{
		Use:   "redact NAME",
		Short: "store and show no literals of a server's statements from now on",
		Long: `From now on every command and a running dyno serve replace the literals of the server's statements by ? before
anything is stored or shown: in sessions, examples, plans, deadlocks, events and diagnoses. What was stored before
stays until its retention ends. docs/access.md says what diagnosis loses by it.`,
		Example: "  dyno target redact shop\n  dyno target redact shop --off",
		Args:    args(1, 1),
	}
	c.Flags().BoolVar(&off, "off", false, "store and show literals again")
	c.RunE = func(c *cobra.Command, a []string) error {
		t, err := app.Inventory{App: e.app}.Redact(c.Context(), a[0], !off)
		if err != nil {
			return err
		}
		if off {
			e.remark("Literals of %s are stored and shown.", t.Name)
		} else {
			e.remark("Literals of %s are no longer stored or shown. What was stored before stays until its retention "+
				"ends.", t.Name)
		}
		return nil
	}
	return c
}

func newTargetRmCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME", Short: "remove a server from the inventory (its stored data stays)",
		Args: args(1, 1), RunE: func(c *cobra.Command, a []string) error {
			l, err := e.app.Ledger(c.Context())
			if err != nil {
				return err
			}
			return l.RemoveTarget(c.Context(), a[0])
		},
	}
}

func newTargetCheckCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "check TARGET",
		Short: "show what is observable on a server, and which GRANT or setting is missing",
		Long: `Connects, detects the server, tries every data source once, and shows for each that is unavailable which GRANT or
setting fixes it. Changes nothing. Exit code 1 if the server cannot be reached.`,
		Args: args(1, 1),
	}
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		t, err := e.app.Open(c.Context(), a[0], e.login)
		if err != nil {
			return err
		}
		defer t.Close()
		x, err := app.Inspection{App: e.app}.CheckOpen(c.Context(), t)
		if err != nil {
			return err
		}
		if e.json() {
			return e.writeJSON(x)
		}
		if denied := diagnose.Denied(x.Sources); denied != "" {
			fmt.Fprintln(e.Out, wrap(denied, e.width(), ""))
		}
		fmt.Fprintf(e.Out, "%s is %s %s, reached as %s\n", x.Target, x.Flavor, x.Version, x.User)
		if x.Doubt != "" {
			fmt.Fprintln(e.Out, wrap(x.Doubt, e.width(), ""))
		}
		if x.Fingerprint != "" {
			fmt.Fprintf(e.Out, "SHA256 %s\n", x.Fingerprint)
		}
		fmt.Fprintln(e.Out)
		missing := 0
		for _, s := range x.Sources {
			if s.State == source.OK {
				how := ""
				if s.Reason != "" {
					how = ": " + wrap(s.Reason, e.width()-28, strings.Repeat(" ", 28))
				}
				fmt.Fprintf(e.Out, "  %-22s ok%s\n", s.Name, how)
				continue
			}
			missing++
			fmt.Fprintf(e.Out, "  %-22s %s: %s\n", s.Name, s.State, wrap(s.Reason, e.width()-28,
				strings.Repeat(" ", 28)))
			if s.Fix != "" {
				fmt.Fprintf(e.Out, "  %-22s Fix: %s\n", "", s.Fix)
			}
		}
		if missing == 0 {
			fmt.Fprintf(e.Out, "\nAll data sources are available.\n")
		} else {
			fmt.Fprintf(e.Out, "\n%d of %d data sources are unavailable; what they would show is unknown.\n",
				missing, len(x.Sources))
		}
		return nil
	}
	return c
}

func newTargetTrustCommand(e *env) *cobra.Command {
	var add, proof bool
	c := &cobra.Command{
		Use:   "trust TARGET",
		Short: "accept the current certificate or account of a server instead of the remembered one",
		Long: `If no CA vouches for a server, Dyno remembers at the first login, in known_servers in its home, its certificate or that it has none, and,
for a server on this machine, the account that it runs as. Later it refuses a different one, as ssh does. If the server was changed on
purpose, this logs in and remembers the current ones. Compare the fingerprint with that of the server's file:
openssl x509 -noout -fingerprint -sha256 -in server-cert.pem`,
		Args: args(1, 1),
	}
	c.Flags().BoolVar(&add, "add", false, "also keep the remembered ones: several servers behind one address, or a "+
		"rotation")
	c.Flags().BoolVar(&proof, "proof", false, "accept later certificates of a MariaDB 11.4+ that proves it knows the "+
		"password; see SECURITY.md")
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		x, err := e.app.Trust(c.Context(), a[0], e.login, add, proof)
		if err != nil {
			return err
		}
		switch {
		case e.json():
			return e.writeJSON(x)
		case x.Is == "":
			fmt.Fprintf(e.Out,
				"%s: no certificate is remembered: it is verified, or the connection is not encrypted.\n", a[0])
		case slices.Contains(x.Was, x.Is):
			fmt.Fprintf(e.Out, "%s has the certificate that was remembered:\nSHA256 %s\n", a[0], x.Is)
		default:
			fmt.Fprintf(e.Out, "%s: remembered the certificate\nSHA256 %s\n", a[0], x.Is)
		}
		how := "instead of"
		if add {
			how = "in addition to"
		}
		others := slices.DeleteFunc(x.Was, func(f string) bool { return f == x.Is })
		if len(others) > 0 {
			fmt.Fprintf(e.Out, "%s\nSHA256 %s\n", how, strings.Join(others, "\nSHA256 "))
		}
		if x.Account != "" {
			fmt.Fprintf(e.Out, "The server runs as %s, which is remembered", x.Account)
			if others := slices.DeleteFunc(x.WasAccounts, func(a string) bool {
				return a == x.Account
			}); len(others) > 0 {
				fmt.Fprintf(e.Out, " %s %s", how, strings.Join(others, ", "))
			}
			fmt.Fprintln(e.Out, ".")
		}
		return nil
	}
	return c
}

// grant is one statement of `target grants` in JSON.
type grant struct {
	SQL  string `json:"sql,omitzero"`
	Then string `json:"then,omitzero"` // to be completed by hand
}

func newTargetGrantsCommand(e *env) *cobra.Command {
	var task, user, flavor string
	var schemas []string
	c := &cobra.Command{
		Use:   "grants [TARGET]",
		Short: "print the SQL that gives an account what a task needs, and no more",
		Long: `Prints statements that create an account, unless it is there, and grant what one task needs:
  watch    read counters, digests and the processlist; no data
  explain  also EXPLAIN statements of the named schemas
  change   add and drop indexes in the named schemas; to set variables, also grant SYSTEM_VARIABLES_ADMIN (MySQL 8.0) or SUPER
  load     run workloads in the named schemas
With a TARGET the statements are for its own account, as the server reports it, unless --user names another one. Without a
TARGET --flavor is needed. A new account is locked until ALTER USER gives it a password, which the last line shows. Nothing
is executed.`,
		Example: "  dyno target grants --flavor mysql --task watch --user dyno@10.0.0.5\n  dyno target grants shop " +
			"--task change --schema shop",
		Args: args(0, 1),
	}
	c.Flags().StringVar(&task, "task", "watch", "watch, explain, change or load")
	c.Flags().StringVar(&user, "user", "dyno", "account, name or name@host; with a TARGET, default its own")
	c.Flags().StringVar(&flavor, "flavor", "", "mysql, percona, mariadb or postgres")
	c.Flags().StringSliceVar(&schemas, "schema", nil, "schema that the task may access; may be repeated")
	e.loginFlags(c)
	c.RunE = func(c *cobra.Command, a []string) error {
		there := false // the account: it logged in
		if len(a) == 1 {
			g, err := app.Inspection{App: e.app}.Grantee(c.Context(), a[0], dbms.Flavor(flavor), e.login)
			if err != nil {
				return err
			}
			flavor = string(g.Flavor)
			if !c.Flags().Changed("user") {
				user, there = g.User, g.Guess == ""
				if g.Guess != "" {
					e.remark("%s", g.Guess)
				}
			}
		}
		if flavor == "" {
			return usagef("say which server the grants are for: give a TARGET or " +
				"--flavor mysql|percona|mariadb|postgres")
		}
		statements, err := app.Grants(dbms.Flavor(flavor), task, user, schemas)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		f, _ := app.FamilyOf(dbms.Flavor(flavor)) // Grants knew it
		create, unlock, err := f.CreateAccount(user)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		var grants []grant
		if !there {
			grants = append(grants, grant{SQL: create})
		}
		for _, s := range statements {
			grants = append(grants, grant{SQL: s})
		}
		if !there {
			grants = append(grants, grant{Then: unlock})
		}
		return list(e, grants, func(g grant) string {
			if g.Then != "" {
				return "-- For a new account, with a password of your choice: " + g.Then + ";"
			}
			return g.SQL + ";"
		}, "")
	}
	return c
}
