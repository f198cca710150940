package endpoint

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/internal/tunnel"
)

func TestParseURL(t *testing.T) {
	f := func(url string, want Spec) {
		t.Helper()
		got, err := ParseURL(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			return
		}
		if got != want {
			t.Errorf("%s:\ngot  %+v %q\nwant %+v %q", url, got, got.Password.Reveal(), want, want.Password.Reveal())
		}
		again, err := ParseURL(got.URL())
		got.Password, got.PasswordInURL = Secret{}, false
		if err != nil || again != got {
			t.Errorf("%s: its URL %s reads as %+v, %v", url, got.URL(), again, err)
		}
	}
	tcp := func(addr string) Spec { return Spec{Scheme: "mysql", Network: "tcp", Address: addr} }
	with := func(s Spec, f func(*Spec)) Spec { f(&s); return s }

	f("mysql://h", tcp("h:3306"))
	f("mysql://h/", tcp("h:3306"))
	f("MySQL://h:13306", tcp("h:13306"))
	f("mysql://", tcp(""))
	f("mysql:///d", with(tcp(""), func(s *Spec) { s.Database = "d" }))
	f("mysql://u@", with(tcp(""), func(s *Spec) { s.User = "u" }))
	f("mysql://:3307/", tcp(":3307"))
	f("mariadb://db.example.org:3307/shop", Spec{
		Scheme: "mariadb", Network: "tcp", Address: "db.example.org:3307",
		Database: "shop",
	})
	f("mysql://[::1]:3307/", tcp("[::1]:3307"))
	f("mysql://[fe80::1%25eth0]/", tcp("[fe80::1%eth0]:3306"))
	f("mysql://root@127.0.0.1:3306/db", with(tcp("127.0.0.1:3306"), func(s *Spec) {
		s.User, s.Database = "root", "db"
	}))
	f("mysql://u:p%40ss%3A%2F@h/", with(tcp("h:3306"), func(s *Spec) {
		s.User, s.Password, s.PasswordInURL = "u",
			NewSecret("p@ss:/"), true
	}))
	f("mysql://u:p@ss@h/", with(tcp("h:3306"), func(s *Spec) {
		s.User, s.Password, s.PasswordInURL = "u",
			NewSecret("p@ss"), true
	}))
	f("mysql://u:@h/", with(tcp("h:3306"), func(s *Spec) { s.User = "u" }))
	f("mysql://j%C3%BCrgen%20%40home@h/da%20ta%2Fbase%3F", with(tcp("h:3306"), func(s *Spec) {
		s.User, s.Database = "jürgen @home", "da ta/base?"
	}))
	f("mysql://a+b@h/c+d", with(tcp("h:3306"), func(s *Spec) { s.User, s.Database = "a+b", "c+d" }))
	f("mysql://h/?user=a+b", with(tcp("h:3306"), func(s *Spec) { s.User = "a+b" }))
	f("unix:///run/mysqld/mysqld.sock?user=root", Spec{
		Scheme: "mysql", Network: "unix",
		Address: "/run/mysqld/mysqld.sock", User: "root",
	})
	f("unix:///tmp/a%20b%3F.sock?user=root&password=x%26y&database=d", Spec{
		Scheme: "mysql", Network: "unix", Address: "/tmp/a b?.sock", User: "root",
		Password: NewSecret("x&y"), PasswordInURL: true, Database: "d",
	})
	f("unix:///s?flavor=mariadb", Spec{Scheme: "mariadb", Network: "unix", Address: "/s"})
	f("mysql://h/?tls=verify-full&ssl-ca=/etc/ca.pem&ssl-cert=c&ssl-key=k&server-name=n&connect-timeout=3", Spec{
		Scheme: "mysql", Network: "tcp",
		Address: "h:3306", TLS: TLSVerifyFull, CA: "/etc/ca.pem", Cert: "c", Key: "k", ServerName: "n",
		ConnectTimeout: 3 * time.Second,
	})
	exporter := func(x string) func(*Spec) { return func(s *Spec) { s.NodeExporter = x } }
	f("mysql://h/?node-exporter=http://h:9100", with(tcp("h:3306"), exporter("http://h:9100/metrics")))
	f("mysql://h?Node_Exporter=https%3A%2F%2F[::1]/x%3Fcollect%5B%5D=cpu%26a=%2525", with(tcp("h:3306"),
		exporter("https://[::1]/x?collect[]=cpu&a=%25")))
	f("mysql://h/?ssh=ssh://j&node-exporter=http://h:9100/m", with(tcp("h:3306"), func(s *Spec) {
		s.Jump.Host, s.NodeExporter = "j", "http://h:9100/m"
	}))
	f("mysql://h/?ssh=ssh://j", with(tcp("h:3306"), func(s *Spec) { s.Jump.Host = "j" }))
	f("mysql://u@h/d?tls=required&ssh=ssh%3A%2F%2Fme%40[::1]:2222", with(tcp("h:3306"), func(s *Spec) {
		s.User, s.Database, s.TLS, s.Jump = "u", "d", TLSRequired, tunnel.Jump{User: "me", Host: "::1", Port: 2222}
	}))
	f("unix:///s?ssh=ssh://a@j", with(Spec{Scheme: "mysql", Network: "unix", Address: "/s"}, func(s *Spec) {
		s.Jump = tunnel.Jump{User: "a", Host: "j"}
	}))
	f("mysql://h/?ssl-mode=VERIFY_IDENTITY", with(tcp("h:3306"), func(s *Spec) { s.TLS = TLSVerifyFull }))
	f("mysql://h/?ssl_mode=VERIFY_CA", with(tcp("h:3306"), func(s *Spec) { s.TLS = TLSVerifyCA }))
	f("mysql://h/?explain-schemas=app,shop", with(tcp("h:3306"), func(s *Spec) { s.ExplainSchemas = "app,shop" }))
	f("mysql://h/?tls=false&connect-timeout=250ms", with(tcp("h:3306"), func(s *Spec) {
		s.TLS, s.ConnectTimeout = TLSDisabled, 250*time.Millisecond
	}))
}

func TestParsePostgresURL(t *testing.T) {
	f := func(url, again string, want Spec) {
		t.Helper()
		want.Scheme = Postgres
		got, err := ParseURL(url)
		if err != nil || got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v\n%v", url, got, want, err)
			return
		}
		if got.URL() != again {
			t.Errorf("%s: its URL is %s", url, got.URL())
		}
		twice, err := ParseURL(got.URL())
		got.Password, got.PasswordInURL = Secret{}, false
		if err != nil || twice != got {
			t.Errorf("%s: its URL %s reads as %+v, %v", url, got.URL(), twice, err)
		}
	}
	socket := Spec{Network: "unix", Address: "/run/postgresql/.s.PGSQL.5432", Database: "d"}
	f("postgresql://h", "postgres://h:5432/", Spec{Network: "tcp", Address: "h:5432"})
	f("POSTGRES://u:p%40@[::1]:5433/d?sslmode=require&connect_timeout=3",
		"postgres://u@[::1]:5433/d?sslmode=require&connect_timeout=3", Spec{
			Network: "tcp", Address: "[::1]:5433", User: "u", Database: "d", Password: NewSecret("p@"),
			PasswordInURL: true, TLS: TLSRequired, ConnectTimeout: 3 * time.Second,
		})
	f("postgres://h/?sslmode=verify-full&sslrootcert=/ca&sslcert=c&sslkey=k",
		"postgres://h:5432/?sslmode=verify-full&sslrootcert=/ca&sslcert=c&sslkey=k", Spec{
			Network: "tcp", Address: "h:5432", TLS: TLSVerifyFull, CA: "/ca", Cert: "c", Key: "k",
		})
	f("postgres://h/?sslmode=prefer", "postgres://h:5432/?sslmode=prefer",
		Spec{Network: "tcp", Address: "h:5432", TLS: TLSPreferred})
	f("postgres://h/?sslmode=disable", "postgres://h:5432/?sslmode=disable",
		Spec{Network: "tcp", Address: "h:5432", TLS: TLSDisabled})
	f("postgres:///", "postgres:///", Spec{Network: "tcp"})
	f("postgres://:5433/d", "postgres://:5433/d", Spec{Network: "tcp", Address: ":5433", Database: "d"})
	f("postgres:///d?host=/run/postgresql", "postgres:///d?host=/run/postgresql", socket)
	f("postgres:///d?host=/run/postgresql/", "postgres:///d?host=/run/postgresql", socket)
	f("postgres:///d?host=/run/postgresql/.s.PGSQL.5432", "postgres:///d?host=/run/postgresql", socket)
	f("postgres://%2Frun%2Fpostgresql/d", "postgres:///d?host=/run/postgresql", socket)
	f("postgres://u@/d?port=5433&host=/tmp/a%20b", "postgres://u@/d?host=/tmp/a%20b&port=5433", Spec{
		Network: "unix", Address: "/tmp/a b/.s.PGSQL.5433", User: "u", Database: "d",
	})
	f("postgres:///?host=h&port=5433&user=u&dbname=d", "postgres://u@h:5433/d", Spec{
		Network: "tcp", Address: "h:5433", User: "u", Database: "d",
	})
	f("postgres://h/?ssh=ssh://j", "postgres://h:5432/?ssh=ssh://j", Spec{
		Network: "tcp", Address: "h:5432", Jump: tunnel.Jump{Host: "j"},
	})
	if s := (Spec{Scheme: Postgres}); s.Where() != "localhost:5432" {
		t.Errorf("without an address it is at %s", s.Where())
	}
}

func TestParseURLRefuses(t *testing.T) {
	f := func(url string, kind Kind, want string) {
		t.Helper()
		s, err := ParseURL(url)
		if err == nil {
			t.Errorf("%q reads as %+v", url, s)
			return
		}
		if KindOf(err) != kind || !strings.Contains(err.Error(), want) || HintOf(err) == "" {
			t.Errorf("%q: got %v, %q, hint %q; want %v, %q", url, KindOf(err), err, HintOf(err), kind, want)
		}
		for _, secret := range []string{"secret", "/wort", "#wort"} {
			if strings.Contains(err.Error()+HintOf(err), secret) {
				t.Errorf("%q: the error shows the password: %v", url, err)
			}
		}
	}
	f("", BadTarget, "no scheme")
	f("h:3306", BadTarget, "no scheme")
	f("http://h/", BadTarget, "unknown scheme")
	f("mysq://u@h/", BadTarget, "unknown scheme: mysql:// is the nearest")
	f("Mariadbs://h/", BadTarget, "unknown scheme: mariadb:// is the nearest")
	f("postgres://h/?host=g", BadTarget, "the host is given twice")
	f("postgres://h/?port=5433", BadTarget, "belongs behind the host")
	f("postgres://h,g/", BadTarget, "no host name has")
	f("postgres:///?host=h,g", BadTarget, "names several")
	f("postgres://u:secret@h:x/", BadTarget, "port is not a number")
	f("postgres://h/?explain-schemas=a", BadTarget, "accepted are host, port")
	f("mysql://h/?port=1", BadTarget, "accepted are user")
	f("postgre://h/", BadTarget, "postgres:// is the nearest")
	f("mongodb://h/db", Unsupported, "MongoDB is not yet supported")
	f("mysql://h:0/", BadTarget, "port is not a number")
	f("mysql://h:65536/", BadTarget, "port is not a number")
	f("mysql://u:secret/wort@h/", BadTarget, "there is a / before the @")
	f("mysql://h:secret/", BadTarget, "port is not a number")
	f("mysql://u:sec%ret@h/", BadTarget, "password holds a % that is not followed")
	f("mysql://u:secret%zz@h/", BadTarget, "password holds a %")
	f("mysql://u:secret#wort@h/", BadTarget, "must be written %23")
	f("mysql://u%ff@h/", BadTarget, "user is not valid UTF-8")
	f("mysql://u\xff@h/", BadTarget, "not valid UTF-8")
	f("mysql://u%00@h/", BadTarget, "user holds a control character")
	f("mysql://h/d%0A", BadTarget, "database holds a control character")
	f("mysql://ho st/", BadTarget, "no host name has")
	f("mysql://h%2F/", BadTarget, "no host name has")
	f("mysql://::1/", BadTarget, "more than one colon")
	f("mysql://[::1/", BadTarget, "not closed")
	f("mysql://[localhost]/", BadTarget, "not an IPv6 address")
	f("mysql://[127.0.0.1]/", BadTarget, "not an IPv6 address")
	f("mysql://[::1]x/", BadTarget, "only a :port")
	f("unix://run/s", BadTarget, "absolute")
	f("unix://", BadTarget, "absolute")
	f("mysql://h/?colour=red", BadTarget, "unknown parameter")
	f("mysql://h/?tls=maybe", BadTarget, "TLS mode is")
	f("mysql://h/?tls=true&ssl-mode=false", BadTarget, "given twice")
	f("mysql://u@h/?user=v", BadTarget, "user is given twice")
	f("mysql://u:secret@h/?password=secret2", BadTarget, "password is given twice")
	f("mysql://h/d?database=e", BadTarget, "database is given twice")
	f("mysql://h/?explain-schemas=*", BadTarget, "no patterns")
	f("mysql://h/?explain-schemas=a,,b", BadTarget, "names of schemas")
	f("mysql://h/?connect-timeout=soon", BadTarget, "connect timeout is")
	f("mysql://h/?connect-timeout=-1s", BadTarget, "connect timeout is")
	f("unix:///s?flavor=oracle", BadTarget, "flavor is")
	f("mysql://h/?ssh=jump", BadTarget, "ssh://user@host:22")
	f("mysql://h/?ssh=ssh://u:secret@jump", BadTarget, "no password")
	f("mysql://h/?ssh=ssh://-oProxyCommand=x", BadTarget, "jump host")
	f("mysql://h/?node-exporter=db1:9100", BadTarget, "http://db1:9100/metrics")
	f("mysql://h/?node-exporter=file:///etc/passwd", BadTarget, "http:// or https://")
	f("mysql://h/?node-exporter=http://u:secret@h:9100/", BadTarget, "without a login")
	f("mysql://h/?node-exporter=http://h/%3Faccess_token=secret", BadTarget, "token")
	f("mysql://h/?node-exporter=http:///metrics", BadTarget, "no host")
	f("mysql://h/?node-exporter=http://a&node-exporter=http://b", BadTarget, "given twice")
	f("unix:///tmp/${HOME}/s?ssh=ssh://j", BadTarget, "literally")
	f("unix:///tmp/%2525h?ssh=ssh://j", BadTarget, "literally")
}

func TestMode(t *testing.T) {
	f := func(url string, want TLSMode) {
		t.Helper()
		s, err := ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.Mode()); diff != "" {
			t.Errorf("%s: %s", url, diff)
		}
	}
	f("mysql://h/", TLSPreferred)
	f("mysql://h/?ssl-ca=x", TLSVerifyFull)
	f("mysql://h/?ssl-ca=x&tls=required", TLSRequired)
	f("unix:///s", TLSDisabled)
	f("unix:///s?tls=required", TLSRequired)
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"mysql://u:p@h:3306/d?tls=verify-full&ssl-ca=a", "unix:///a%20b?user=x&password=y",
		"mariadb://[fe80::1%25e]:1/x%2Fy", "mysql://@:1/",
		"mysql://h/?connect-timeout=1h", "mysql://%F0%9F%90%AC@h/", "mysql://h/?ssh=ssh://u@j:22",
		"mysql://h/?explain-schemas=app,shop", "mysql://h/?node-exporter=http://h:9100/m%3Fa=b%26c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseURL(text)
		if err != nil {
			return
		}
		u := s.URL()
		again, err := ParseURL(u)
		s.Password, s.PasswordInURL = Secret{}, false
		if err != nil || again != s {
			t.Fatalf("%q reads as %+v, its URL %q as %+v, %v", text, s, u, again, err)
		}
	})
}
