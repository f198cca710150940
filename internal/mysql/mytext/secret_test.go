package mytext

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
		"CREATE USER a@b IDENTIFIED VIA unix_socket OR mysql_native_password USING 'hunter2'",
		"PREPARE s FROM 'ALTER USER a@b IDENTIFIED BY ''hunter2'''",
		"EXECUTE IMMEDIATE 'SET PASSWORD = PASSWORD(''hunter2'')'",
		"/*!50706 ALTER USER a@b IDENTIFIED BY 'hunter2' */",
		"/*M!100100 CREATE USER a@b IDENTIFIED BY 'hunter2' */",
		"SET GLOBAL wsrep_sst_auth = 'sst:hunter2'",
		"CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='mysql://u:hunter2@h:3306/d/t'",
		"CREATE TABLE t (a INT) ENGINE=SPIDER COMMENT='wrapper \"mysql\", password \"hunter2\"'",
		"CREATE TABLE t ENGINE=CONNECT OPTION_LIST='User=u,Password=hunter2'",
		"LOAD DATA FROM S3 's3://b?access-key=a&secret-access-key=hunter2' INTO TABLE t",
		"SET GLOBAL s3_access_key='hunter2'",
		"SELECT keyring_key_store('k', 'AES', 'hunter2')",
		"UPDATE mysql.user SET authentication_string='hunter2' WHERE user='a'",
		"INSERT INTO mysql.global_priv VALUES ('h', 'u', '{\"auth\": \"hunter2\"}')",
		"INSERT INTO settings VALUES ('smtp_password', 'hunter2')",
		"UPDATE settings SET v = 'hunter2' WHERE k = 'smtp_password'",
		"CALL p('{\"password\": \"hunter2\"}')",
		"INSERT INTO feeds VALUES ('https://u:hunter2@h/x')",
		"SELECT 1 FROM t WHERE url = 'https://u:hunter2@h/x'",
		"SELECT 1; CREATE USER a IDENTIFIED BY 'hunter2'",
		"SELECT id FROM users WHERE (name, password) = ('a', 'hunter2')",
		"SELECT id FROM users WHERE (name, password) IN (('a', 'hunter2'))",
		"SELECT id FROM users WHERE (password, name) = ('hunter2', 'a')",
		"SELECT id FROM users WHERE password = MD5('hunter2')",
		"SELECT id FROM users WHERE password = SHA1(CONCAT('hunter2', salt))",
		"SELECT id FROM users WHERE MD5('hunter2') = password",
		"SELECT id FROM users WHERE password COLLATE utf8mb4_bin = 'hunter2'",
		"SELECT id FROM users WHERE BINARY password = BINARY 'hunter2'",
		"SELECT id FROM users WHERE password = _utf8mb4'hunter2'",
		"SELECT id FROM users WHERE CAST(password AS CHAR) NOT LIKE 'hunter2'",
		"SELECT id FROM users WHERE STRCMP(password, 'hunter2') = 0",
		"SELECT id FROM users WHERE password BETWEEN 'hunter2' AND 'hunter3'",
		"SELECT id FROM users WHERE api_key = 'hunter2'",
		// too many to look at each
		"SELECT " + strings.Repeat("password, ", mostMentions+1) + "id FROM users WHERE name = 'hunter2'",
	} {
		f(sql, true)
	}
	for _, sql := range []string{
		"SELECT id, password_hash FROM users WHERE email='a@b'",
		"SELECT password FROM users WHERE id=7",
		"SELECT 1", "SELECT a FROM t WHERE url = 'https://h:80/x@y'", "SELECT password, email FROM users WHERE id IN " +
			"(1, 2)",
		"SELECT " + strings.Repeat("password, ", mostMentions) + "id FROM users WHERE name = 'x'",
		"SELECT video_encode (a), decoded = 'x' FROM t",
		"UPDATE encoded_files SET a='x' WHERE id=1",
		"UPDATE t SET a='x' WHERE id=1",
		"SELECT id FROM passwords p JOIN t ON t.id=p.id WHERE t.a='x'",
		"ALTER TABLE t ADD COLUMN a VARCHAR(10) DEFAULT 'x'",
	} {
		f(sql, false)
	}
}
