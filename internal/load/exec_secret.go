package load

import "github.com/dyno-perf/dyno/internal/lazyregexp"

// secrets are what is likely a password or a key in a command line, after what says so: a variable, an option or a
// header of such a name, the -p of the mysql programs and of sshpass, the user of curl, IDENTIFIED BY, and the
// credentials in a URL.
var (
	secrets = lazyregexp.New(
		`(?i)((?:passw|passphrase|pwd|secret|token|api-?key|authorization)[\w-]*["']?\s*[=:]\s*(?:bearer |basic )?` +
			`|--?[\w-]*(?:passw|passphrase|pwd|secret|token|api-?key)[\w-]*\s+` +
			`|\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+|(?:^|\s)(?-i:-p)|\bsshpass\s+-p\s*|\s(?:-u\s*|--user[ =])[^\s:]+:)` +
			`("[^"]*"|'[^']*'|[^\s"';]+)`)
	credentials = lazyregexp.New(`(://[^\s/:@]*:)[^\s/]+@`)
)

// withoutSecrets returns a command line as it is kept with its run. A secret that nothing says to be one stays.
func withoutSecrets(command string) string {
	return credentials.ReplaceAllString(secrets.ReplaceAllString(command, "${1}***"), "${1}***@")
}
