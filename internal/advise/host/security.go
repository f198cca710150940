package host

import "dyno/internal/advise"

// securityRules are those about who may log in and what is encrypted. They tell facts: what is right depends on where the server stands.
func securityRules() []advise.Rule {
	return []advise.Rule{
		{Name: "account-without-password", Doc: "accounts that anybody may log in as", Find: accountWithoutPassword},
		{Name: "tls", Doc: "connections that nobody has to encrypt", Find: tls},
		{Name: "encryption-at-rest", Doc: "tables and logs that lie on the disk as they are", Find: encryptionAtRest},
	}
}
