// Package host holds the rules for the machine as the servers of the family use it, for accounts
// without a password, and for encryption of connections and data. Those about accounts and
// encryption tell facts: what is right depends on where the server stands.
package host

import "github.com/dyno-perf/dyno/internal/advise"

// Rules returns every rule.
func Rules() []advise.Rule {
	return []advise.Rule{
		{Name: "file-limit", Doc: "a server that runs out of file descriptors", Find: fileLimit},
		{Name: "huge-pages", Doc: "huge pages for the buffer pool, from the server's peak", Find: hugePages},
		{Name: "numa", Doc: "a buffer pool that fills the memory of one node first", Find: numa},
		{Name: "account-without-password", Doc: "accounts without a password", Find: accountWithoutPassword},
		{Name: "tls", Doc: "connections that need not be encrypted", Find: tls},
		{
			Name: "encryption-at-rest", Doc: "tables and logs that are not encrypted on disk", Find: encryptionAtRest,
		},
	}
}
