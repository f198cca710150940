package host

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise/host"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
)

// mostNames is how many accounts are named.
const mostNames = 10

// accountWithoutPassword tells of accounts that take no password.
func accountWithoutPassword(v *advise.View) []finding.Finding {
	var open []string
	super, outside := 0, 0
	for _, a := range v.Accounts {
		if !a.NoPassword || a.Locked {
			continue
		}
		open = append(open, "'"+a.User+"'@'"+a.Host+"'")
		if a.Super {
			super++
		}
		if a.Host != "localhost" && a.Host != "127.0.0.1" && a.Host != "::1" {
			outside++
		}
	}
	if len(open) == 0 {
		return nil
	}
	f := host.About("account-without-password", "accounts")
	f.Subject.Variables, f.Valid, f.Confidence = nil, "", finding.Certain
	names := strings.Join(open[:min(mostNames, len(open))], ", ")
	if len(open) > mostNames {
		names += fmt.Sprintf(" and %d more", len(open)-mostNames)
	}
	f.Title = fmt.Sprintf("%d accounts have no password", len(open))
	if len(open) == 1 {
		f.Title = "one account has no password"
	}
	if outside > 0 {
		f.Title += fmt.Sprintf(", %d of them from other machines", outside)
	}
	f.Evidence = append(f.Evidence, host.Measured("accounts without a password", float64(len(open)), "", "0",
		source.Accounts,
		"Anyone can log in as %s.", names))
	if super > 0 {
		f.Evidence = append(f.Evidence, host.Measured("of these with all privileges", float64(super), "", "0",
			source.Accounts,
			"%d of them have all privileges.", super))
	}
	f.Suggestion = "Give each a password, or lock it: ALTER USER … IDENTIFIED BY …, or ALTER USER … ACCOUNT LOCK. " +
		"Accounts of the machine's own users are safer with auth_socket (unix_socket)."
	f.Cost = "Clients that log in without a password fail until they use it."
	f.Reference = "https://dev.mysql.com/doc/refman/en/default-privileges.html"
	return []finding.Finding{f}
}
