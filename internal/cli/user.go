package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/store/access"
)

func newUserCommand(e *env) *cobra.Command {
	c := group("user", "who may use the web UI and the API: add, ls, rm, password, role, token, audit",
		newUserAddCommand(e), newUserLsCommand(e), newUserRmCommand(e), newUserPasswordCommand(e),
		newUserRoleCommand(e), newUserAuditCommand(e),
		group("token", "API tokens for programs: add, ls, rm", newTokenAddCommand(e), newTokenLsCommand(e),
			newTokenRmCommand(e)))
	c.Long = `Manages the users of the web UI of "dyno serve", and API tokens for programs. A viewer sees everything, an operator can also
make changes. Without users root and Dyno's own account on this machine are operators, and no one else has access. Changes take
effect at once in a running "dyno serve".`
	return c
}

// withUsers runs f on the users' file and writes into the audit log what it is, when it has a name. What f is about was
// checked to be names and roles before: what people type into the wrong place, such as passwords, comes into no log.
func withUsers(ctx context.Context, e *env, what, detail string, f func(s *access.Store) error) (err error) {
	s, err := app.Stores{App: e.app}.Users(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if what == "" {
		return usageOf(f(s))
	}
	who := "?"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	id, err := s.Audit.Begin(ctx, access.Entry{Who: who, Via: "cli", What: what, Detail: detail})
	if err != nil {
		return err
	}
	outcome := "done"
	if err = f(s); err != nil {
		outcome = "failed: " + err.Error()
	}
	return errors.Join(usageOf(err), s.Audit.End(context.WithoutCancel(ctx), id, 0, outcome))
}

// usageOf makes what breaks a rule a usage error.
func usageOf(err error) error {
	if errors.Is(err, access.ErrInvalid) {
		return &exitError{exitUsage, err}
	}
	return err
}

// nameOnly refuses a second argument without repeating it: it may be a password.
func nameOnly(c *cobra.Command, a []string) error {
	if len(a) == 1 {
		return nil
	}
	return usagef("%s takes a name and nothing else: it prompts for the password, or reads it from standard input; "+
		"usage: %s", c.CommandPath(), c.UseLine())
}

func newUserAddCommand(e *env) *cobra.Command {
	var role string
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "add a user; the password is prompted for, or read from standard input",
		Long: `Adds a user. On a terminal it prompts for the password twice; otherwise it reads the first line of standard input.
The password has at least 12 characters; a few words are better than a few symbols. The first user is an operator, and
from then on everyone needs a login, on this machine too.`,
		Example: "  dyno user add anna --role operator\n  pass show dyno/ben | dyno user add ben",
		Args:    nameOnly,
	}
	c.Flags().StringVar(&role, "role", "", "viewer or operator (default viewer; the first user is an operator)")
	c.RunE = func(c *cobra.Command, a []string) error {
		if err := access.CheckName(a[0]); err != nil {
			return usageOf(err)
		}
		some := false
		err := withUsers(c.Context(), e, "", "", func(s *access.Store) (err error) {
			some, err = s.HasUsers(c.Context())
			if errors.Is(err, access.ErrLost) { // this is what mends it
				e.remark("The file of users is lost; this user is the first in a new one.")
				err = nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if role == "" {
			role = string(access.Viewer)
			if !some {
				role = string(access.Operator)
			}
		}
		r, err := access.ParseRole(role)
		if err != nil {
			return usageOf(err)
		}
		password, err := newPassword(e, a[0])
		if err != nil {
			return err
		}
		err = withUsers(c.Context(), e, "user add", "name="+a[0]+" role="+role, func(s *access.Store) error {
			return s.AddUser(c.Context(), a[0], r, password)
		})
		if err != nil {
			return err
		}
		e.remark("Added %s as %s.", a[0], role)
		if !some {
			e.remark("It is the first user: from now on everyone needs a login, on this machine too. Programs use " +
				"tokens: `dyno user token add`.")
		}
		return nil
	}
	return c
}

func newUserPasswordCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "password NAME",
		Short: "set a user's password; ends the user's sessions",
		Args:  nameOnly,
		RunE: func(c *cobra.Command, a []string) error {
			if err := access.CheckName(a[0]); err != nil {
				return usageOf(err)
			}
			password, err := newPassword(e, a[0])
			if err != nil {
				return err
			}
			return withUsers(c.Context(), e, "user password", "name="+a[0], func(s *access.Store) error {
				return s.SetPassword(c.Context(), a[0], password, "")
			})
		},
	}
}

func newUserRoleCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "role NAME viewer|operator",
		Short: "change the role of a user, effective from the next request",
		Args:  args(2, 2),
		RunE: func(c *cobra.Command, a []string) error {
			role, err := access.ParseRole(a[1])
			if err = cmp.Or(access.CheckName(a[0]), err); err != nil {
				return usageOf(err)
			}
			return withUsers(c.Context(), e, "user role", "name="+a[0]+" role="+a[1], func(s *access.Store) error {
				return s.SetRole(c.Context(), a[0], role)
			})
		},
	}
}

func newUserRmCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "remove a user and end the user's sessions",
		Long: "Removes a user and ends the user's sessions. The last operator can be removed only as the last user: " +
			"then root and Dyno's own account on this machine need no login.",
		Args: args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if err := access.CheckName(a[0]); err != nil {
				return usageOf(err)
			}
			var left []string
			some := true
			err := withUsers(c.Context(), e, "user rm", "name="+a[0], func(s *access.Store) error {
				if err := s.RemoveUser(c.Context(), a[0], true); err != nil {
					return err
				}
				ts, err := s.Tokens.List(c.Context())
				for _, t := range ts {
					if t.By == a[0] {
						left = append(left, t.Name)
					}
				}
				if err == nil {
					some, err = s.HasUsers(c.Context())
				}
				return err
			})
			if err != nil {
				return err
			}
			if len(left) > 0 {
				e.remark("Tokens created by %s are still valid: %s. `dyno user token rm` revokes them.", a[0],
					strings.Join(left, ", "))
			}
			if !some {
				e.remark("No user is left: root and Dyno's own account on this machine are operators without a login " +
					"again.")
			}
			return nil
		},
	}
}

func newUserLsCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "list the users", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return withUsers(c.Context(), e, "", "", func(s *access.Store) error {
				all, err := s.Users(c.Context())
				if err == nil {
					_, err = s.HasUsers(c.Context()) // none is not the same as lost
				}
				if err != nil {
					return err
				}
				return listed(e, fmt.Sprintf("%-20s %-9s %s", "NAME", "ROLE", "SEEN"), all, func(u access.User) string {
					seen := "no session"
					if !u.Seen.IsZero() {
						seen = "seen " + u.Seen.Local().Format(time.DateTime)
					}
					return fmt.Sprintf("%-20s %-9s %s", u.Name, u.Role, seen)
				}, "There are no users: root and Dyno's own account on this machine are operators without a login. "+
					"`dyno "+
					"user add NAME` adds the first.")
			})
		},
	}
}

func newTokenAddCommand(e *env) *cobra.Command {
	var role string
	var days int
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "create an API token and print it once",
		Long: `Creates a token for a program, which sends it as "Authorization: Bearer TOKEN". It is printed only once; Dyno stores only
a hash. Grafana and Prometheus need a token of a viewer.`,
		Example: "  dyno user token add grafana > /etc/grafana/dyno.token",
		Args:    args(1, 1),
	}
	c.Flags().StringVar(&role, "role", string(access.Viewer), "viewer or operator")
	c.Flags().IntVar(&days, "days", 365, "validity in days")
	c.RunE = func(c *cobra.Command, a []string) error {
		if most := int(access.MaxTokenLife.Hours() / 24); days < 1 || days > most {
			return usagef("--days %d: must be 1 to %d", days, most)
		}
		r, err := access.ParseRole(role)
		if err = cmp.Or(access.CheckName(a[0]), err); err != nil {
			return usageOf(err)
		}
		by := "cli"
		if u, err := user.Current(); err == nil {
			by = u.Username
		}
		return withUsers(c.Context(), e, "token add", fmt.Sprintf("name=%s role=%s days=%d", a[0], role, days),
			func(s *access.Store) error {
				t, err := s.Tokens.Add(c.Context(), a[0], r, by, time.Duration(days)*24*time.Hour)
				if err != nil {
					return err
				}
				if e.json() {
					return e.writeJSON(struct {
						access.Token
						Secret string `json:"token"`
					}{t, t.Secret})
				}
				e.remark("It is shown only once and is valid until %s:", t.Expires.Local().Format(time.DateOnly))
				_, err = fmt.Fprintln(e.Out, t.Secret)
				return err
			})
	}
	return c
}

func newTokenLsCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "list the tokens, without their secrets", Args: args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return withUsers(c.Context(), e, "", "", func(s *access.Store) error {
				all, err := s.Tokens.List(c.Context())
				if err != nil {
					return err
				}
				return listed(e, fmt.Sprintf("%-20s %-9s %-16s  %-24s %s", "NAME", "ROLE",
					"VALID", "USED", "CREATED BY"),
					all, func(t access.Token) string {
						used := "never used"
						if !t.Used.IsZero() {
							used = "used " + t.Used.Local().Format(time.DateTime)
						}
						return fmt.Sprintf("%-20s %-9s until %s  %-24s created by %s", t.Name, t.Role,
							t.Expires.Local().Format(time.DateOnly), used, t.By)
					}, "There are no tokens. `dyno user token add NAME` adds one.")
			})
		},
	}
}

func newTokenRmCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME", Short: "revoke a token, effective at once", Args: args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			detail := ""
			if access.CheckName(a[0]) == nil { // who gives the token itself finds it in no log
				detail = "name=" + a[0]
			}
			err := withUsers(c.Context(), e, "token rm", detail, func(s *access.Store) error {
				return s.Tokens.Remove(c.Context(), a[0])
			})
			if errors.Is(err, access.ErrNotFound) {
				what := "of that name" // what is given may be the token itself, which is printed nowhere
				if detail != "" {
					what = fmt.Sprintf("%q", a[0])
				}
				return fmt.Errorf("there is no token %s; `dyno user token ls` lists them: %w", what, err)
			}
			return err
		},
	}
}

func newUserAuditCommand(e *env) *cobra.Command {
	n := 50
	c := &cobra.Command{
		Use:   "audit",
		Short: "list who changed what, from where, and the outcome; newest first",
		Args:  args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if n < 1 {
				return usagef("--lines %d: must be 1 or more", n)
			}
			return withUsers(c.Context(), e, "", "", func(s *access.Store) error {
				all, err := s.Audit.List(c.Context(), 0, n)
				if err != nil {
					return err
				}
				return listed(e, fmt.Sprintf("%-19s  %-12s %-8s %-15s %s", localTime(), "WHO", "VIA", "FROM", "WHAT"),
					all, func(x access.Entry) string {
						outcome := x.Outcome
						if outcome == "" {
							outcome = "unfinished, or the program died meanwhile"
						}
						return fmt.Sprintf("%s  %-12s %-8s %-15s %s %s: %s", x.At.Local().Format(time.DateTime), x.Who,
							x.Via, x.From, x.What, x.Detail, outcome)
					}, "No changes yet.")
			})
		},
	}
	c.Flags().IntVarP(&n, "lines", "n", n, "number of entries")
	return c
}

// newPassword asks twice on the terminal, or reads the first line of standard input where that is none.
func newPassword(e *env, name string) (string, error) {
	if f, ok := e.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p, err := e.askPassword("New password for " + name + ": ")
		if err != nil {
			return "", err
		}
		if err := access.CheckPassword(p, name); err != nil { // before it is typed again
			return "", usageOf(err)
		}
		again, err := e.askPassword("Repeat the password: ")
		if err != nil {
			return "", err
		}
		if again != p {
			return "", usagef("the two passwords differ; nothing was changed")
		}
		return p, nil
	}
	line, err := bufio.NewReader(io.LimitReader(e.In, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read password from standard input: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", usagef("there is no password on standard input; run it on a terminal to be asked, or pipe it in")
	}
	return line, nil
}
