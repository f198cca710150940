package host

import "github.com/dyno-perf/dyno/internal/advise"

// securityRules are those about who may log in and what is encrypted. They tell facts: what is right depends on where
// the server stands.
func securityRules() []advise.Rule {
	return []advise.Rule{
		{
			Name: "account-without-password", Doc: "accounts without a password", Find: accountWithoutPassword,
			MySQL: true,
		},
		{Name: "tls", Doc: "connections that need not be encrypted", Find: tls, MySQL: true},
		{
			Name: "encryption-at-rest", Doc: "tables and logs that are not encrypted on disk", Find: encryptionAtRest,
			MySQL: true,
		},
	}
}
