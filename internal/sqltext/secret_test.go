package sqltext

import (
	"strings"
	"testing"
)

func TestWithoutSecrets(t *testing.T) {
	f := func(sql string, hides bool) {
		t.Helper()
		got := WithoutSecrets(sql)
		if want := map[bool]string{true: string(Redact(nil, []byte(sql))), false: sql}[hides]; got != want {
			t.Errorf("%s\n%s", sql, got)
		}
		if hides && strings.Contains(got, "hunter2") {
			t.Errorf("it is still there: %s", got)
		}
	}
	for _, sql := range []string{
		"CREATE USER a@b IDENTIFIED BY 'hunter2'",
		"create user a@b identified  with mysql_native_password\nAS 'hunter2'",
		"ALTER USER a@b IDENTIFIED WITH caching_sha2_password BY 'hunter2' REPLACE 'hunter2old'",
		"CREATE USER a@b IDENTIFIED VIA ed25519 USING PASSWORD('hunter2')",
		"GRANT ALL ON d.* TO a@b IDENTIFIED BY PASSWORD '*hunter2'",
		"/* dyno:x */ GRANT ALL ON d.* TO a@b IDENTIFIED BY \"hunter2\"",
		"SET PASSWORD FOR a@b = PASSWORD('hunter2')",
		"SET PASSWORD = 'hunter2'",
		"SELECT PASSWORD('hunter2')",
		"SELECT OLD_PASSWORD ('hunter2')",
		"CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='hunter2'",
		"CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 'hunter2'",
		"START SLAVE USER='u' PASSWORD='hunter2'",
		"CLONE INSTANCE FROM a@b:3306 IDENTIFIED BY 'hunter2'",
		"CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'hunter2')",
		"ALTER SERVER s OPTIONS (PASSWORD 'hunter2')",
		"SELECT AES_DECRYPT(c, 'hunter2') FROM t",
		"SELECT id FROM t WHERE c = AES_ENCRYPT('x', 'hunter2')",
		"SELECT DECODE(c, 'hunter2') FROM t",
		"UPDATE u SET pw = ENCRYPT('hunter2')",
		"INSERT INTO users (name, password) VALUES ('a', 'hunter2')",
		"UPDATE users SET password_hash='hunter2' WHERE id=1",
		"SELECT id FROM users WHERE name='a' AND password='hunter2'",
		"SELECT id FROM users u WHERE u.`passwd` = 'hunter2'",
		"SELECT id FROM users WHERE 'hunter2' = u.password",
		"SELECT id FROM users WHERE password IN ('hunter2', 'x')",
		"SELECT id FROM users WHERE api_secret LIKE 'hunter2%'",
		"SELECT id FROM users WHERE /* x */ password /* y */ = /* z */ 'hunter2'",
		"SELECT 'hunter2' AS password",
		"SET @pwd := 'hunter2'",
		"CREATE USER a@b IDENTIFIED BY 'hunter2", // cut off
	} {
		f(sql, true)
	}
	for _, sql := range []string{
		"SELECT id, password_hash FROM users WHERE email='a@b'",
		"SELECT password FROM users WHERE id=7",
		"SELECT 1",
		"UPDATE t SET a='x' WHERE id=1",
		"SELECT id FROM passwords p JOIN t ON t.id=p.id WHERE t.a='x'",
		"ALTER TABLE t ADD COLUMN a VARCHAR(10) DEFAULT 'x'",
	} {
		f(sql, false)
	}
}
