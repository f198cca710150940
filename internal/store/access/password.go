package access

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// cost is what one argon2id hash takes, see RFC 9106.
type cost struct {
	memory  uint32 // KiB
	time    uint32 // passes
	threads uint8
}

// usual is the least that OWASP's Password Storage Cheat Sheet asks for: 19 MiB, two passes, one thread; some 30 ms.
var usual = cost{memory: 19 << 10, time: 2, threads: 1}

const (
	saltBytes = 16
	hashBytes = 32
)

// Lengths of passwords. The upper one keeps a login from hashing a megabyte.
const (
	MinPassword = 12  // characters
	MaxPassword = 256 // bytes
)

// hashPassword returns the PHC string of a password: $argon2id$v=19$m=…,t=…,p=…$salt$hash.
func hashPassword(password string, c cost) string {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails, see crypto/rand
	sum := argon2.IDKey([]byte(password), salt, c.time, c.memory, c.threads, hashBytes)
	b := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.time, c.threads,
		b.EncodeToString(salt), b.EncodeToString(sum))
}

// checkPassword reports whether a password has that hash, in a time that does not depend on how much of it is right.
// stale tells that the hash was made cheaper than usual.
func checkPassword(password, phc string) (right, stale bool, err error) {
	c, salt, want, err := parsePHC(phc)
	if err != nil {
		return false, false, err
	}
	got := argon2.IDKey([]byte(password), salt, c.time, c.memory, c.threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, c.memory < usual.memory || c.time < usual.time, nil
}

// wasteTime does what checking a password does, for a user that is not there.
func wasteTime(password string) {
	var salt [saltBytes]byte
	argon2.IDKey([]byte(password), salt[:], usual.time, usual.memory, usual.threads, hashBytes)
}

var errHash = errors.New("it is not an argon2id hash in PHC form")

// parsePHC reads a PHC string. What would take more than a few seconds or 256 MiB is refused, for the file may have
// been tampered with.
func parsePHC(s string) (c cost, salt, sum []byte, err error) {
	part := strings.Split(s, "$")
	if len(part) != 6 || part[0] != "" || part[1] != "argon2id" || part[2] != "v="+strconv.Itoa(argon2.Version) {
		return c, nil, nil, errHash
	}
	n, err := fmt.Sscanf(part[3], "m=%d,t=%d,p=%d", &c.memory, &c.time, &c.threads)
	if err != nil || n != 3 || fmt.Sprintf("m=%d,t=%d,p=%d", c.memory, c.time, c.threads) != part[3] {
		return c, nil, nil, errHash
	}
	if c.memory < 8 || c.memory > 256<<10 || c.time < 1 || c.time > 16 || c.threads < 1 || c.threads > 16 {
		return c, nil, nil, errHash
	}
	b := base64.RawStdEncoding.Strict()
	if salt, err = b.DecodeString(part[4]); err != nil || len(salt) < 8 {
		return c, nil, nil, errHash
	}
	if sum, err = b.DecodeString(part[5]); err != nil || len(sum) < 16 || len(sum) > 64 {
		return c, nil, nil, errHash
	}
	return c, salt, sum, nil
}

// common holds what people type when they must type twelve characters, without digits and signs at its end.
var common = []string{
	"administrator", "changemechangeme", "correcthorsebatterystaple", "iloveyouiloveyou", "letmeinletmein",
	"passwordpassword", "qwertyqwerty", "qwertyuiop",
	"qwertyuiopasdfghjkl", "asdfghjkl", "zaqwsx", "password", "dynodyno", "dynodynodyno", "mysqlmysql",
	"mysqlmysqlmysql", "mariadbmariadb", "rootroot", "rootrootroot",
	"adminadmin", "adminadminadmin", "welcome", "welcomewelcome", "changeme", "secretsecret", "p@ssw0rd", "passw0rd",
	"qazwsxedcrfv", "abcdefghijkl",
}

// CheckPassword reports why a password will not do: shorter than MinPassword characters, longer than MaxPassword bytes,
// or one that is tried first: few different characters, a row of neighbours, the user's name, a common one. Mixtures of
// signs are not asked for, see NIST SP 800-63B section 3.1.1.2. Errors wrap ErrInvalid and never hold the password.
func CheckPassword(password, user string) error {
	no := func(why string) error { return fmt.Errorf("%w: the password %s", ErrInvalid, why) }
	switch {
	case !utf8.ValidString(password) || strings.ContainsRune(password, 0):
		return no("is not text")
	case utf8.RuneCountInString(password) < MinPassword:
		return no(fmt.Sprintf("is too short: at least %d characters, a few words are fine", MinPassword))
	case len(password) > MaxPassword:
		return no(fmt.Sprintf("is too long: at most %d bytes", MaxPassword))
	}
	low := strings.ToLower(password)
	different := map[rune]bool{}
	steps := 0 // neighbours in the alphabet or in the row of digits
	last := rune(-1)
	for _, r := range low {
		different[r] = true
		if d := r - last; d >= -1 && d <= 1 {
			steps++
		}
		last = r
	}
	core := strings.TrimRight(low, "0123456789!?.,-_ ")
	for _, c := range common {
		if core == c {
			return no("is one that is tried first: choose a few words that do not belong together")
		}
	}
	rest := low
	if len(user) >= 4 {
		rest = strings.ReplaceAll(low, strings.ToLower(user), "")
	}
	if len(different) < 5 || steps > utf8.RuneCountInString(low)*2/3 || len(rest) < 6 {
		return no("is too easy to guess: choose a few words that do not belong together")
	}
	return nil
}
