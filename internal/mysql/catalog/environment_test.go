package catalog

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

func TestLeftOut(t *testing.T) {
	f := func(name string, out bool) {
		t.Helper()
		if got := LeftOut(name); (got != "") != out {
			t.Errorf("%s: left out because %q", name, got)
		}
	}
	for _, s := range []string{
		"hostname", "pid_file", "port", "socket", "datadir", "server_uuid", "timestamp", "gtid_executed",
		"gtid_binlog_state", "last_insert_id", "pseudo_thread_id",
		"report_password", "report_host", "wsrep_sst_auth", "rand_seed1", "innodb_buffer_pool_dump_now",
		"ssl_key", "admin_ssl_key",
		"authentication_ldap_simple_bind_root_pwd", "file_key_management_filekey", "hashicorp_key_management_token",
		"version_comment", "relay_log_basename", "secure_file_priv",
	} {
		f(s, true)
	}
	for _, s := range []string{
		"innodb_buffer_pool_size", "gtid_mode", "gtid_domain_id", "report", "sort_buffer_size", "key_buffer_size",
		"time_zone", "caching_sha2_password_digest_rounds",
		"optimizer_switch", "ssl_cipher", "log_bin", "server_id_bits", "init_connect", "max_seeks_for_key",
	} {
		f(s, false)
	}
}

func TestEnvironmentOfServers(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			read := func(settings ...string) (map[string]map[string]string, map[string]string) {
				t.Helper()
				s := servers.Start(t, flavor, settings...)
				facts, unknown, err := Environment(t.Context(), s.DB(t, ""))
				if err != nil {
					t.Fatal(err)
				}
				for group, m := range facts {
					for name, v := range m {
						if strings.Contains(v, s.Dir) || strings.Contains(v, "open sesame") {
							t.Errorf("%s.%s = %q says where the server is or tells a secret", group, name, v)
						}
					}
				}
				return facts, unknown
			}
			a, unknown := read("report-password=open sesame", "init-connect=SET @a='open sesame'")
			b, _ := read("report-password=open sesame", "init-connect=SET @a='open sesame'")
			// Two servers of one build and one configuration are the same in all facts: that is what leaving out is
			// for.
			for group := range a {
				for name, v := range a[group] {
					if b[group][name] != v {
						t.Errorf("%s.%s: %q on one, %q on the other", group, name, v, b[group][name])
					}
				}
			}
			c, _ := read("innodb-lock-wait-timeout=17")
			differs := map[string]bool{}
			for name, v := range a["variable"] {
				if c["variable"][name] != v {
					differs[name] = true
				}
			}
			if !differs["innodb_lock_wait_timeout"] || !differs["init_connect"] || len(differs) != 2 {
				t.Errorf("one setting and init_connect were changed, %v differ", differs)
			}
			if len(a["variable"]) < 400 || a["variable"]["init_connect"] != "(set)" ||
				c["variable"]["init_connect"] != "" {
				t.Errorf("%d variables, init_connect %q", len(a["variable"]), a["variable"]["init_connect"])
			}
			srv := a["server"]
			for _, name := range []string{
				"version", "version_comment", "version_compile_machine", "version_compile_os",
				"version_ssl_library", "engines",
			} {
				if srv[name] == "" {
					t.Errorf("%s is not known: %v; unknown: %v", name, srv, unknown)
				}
			}
			if !strings.Contains(srv["engines"], "InnoDB") {
				t.Errorf("engines: %s", srv["engines"])
			}
			if srv["version_malloc_library"] == "" && unknown["server.version_malloc_library"] == "" {
				t.Error("the allocator is neither known nor unknown")
			}
		})
	}
}
