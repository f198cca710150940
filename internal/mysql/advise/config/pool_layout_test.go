package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

func laid(size, instances, chunk string) *snap.Made {
	return snap.Build().MySQL("8.0.33").Set("innodb_buffer_pool_size", size).Set("innodb_buffer_pool_instances",
		instances).Set("innodb_buffer_pool_chunk_size", chunk)
}

func TestPoolLayout(t *testing.T) {
	got := poolLayout(laid("68719476736", "8", "1048576").View()) // 64 GiB in chunks of 1 MiB
	if len(got) != 1 || got[0].Severity != finding.Fact ||
		!strings.HasPrefix(got[0].Title, "the buffer pool has 65536 chunks") || len(got[0].Setting) != 1 {
		t.Fatalf("got %+v", got)
	}
	got = poolLayout(snap.Build().Set("innodb_buffer_pool_size", "68719476736").Set("innodb_buffer_pool_instances",
		"8").View())
	if len(got) != 1 || !strings.Contains(got[0].Title, "no effect") {
		t.Errorf("got %+v", got)
	}
}

func TestPoolLayoutSilent(t *testing.T) {
	silent(t, poolLayout, "nothing is seen", snap.Build())
	silent(t, poolLayout, "512 chunks", laid("68719476736", "8", "134217728"))
	silent(t, poolLayout, "a server without chunks", snap.Build().MySQL("5.6.14").Set("innodb_buffer_pool_size",
		"68719476736"))
	silent(t, poolLayout, "one instance on MariaDB", snap.Build().Set("innodb_buffer_pool_size", "68719476736").
		Set("innodb_buffer_pool_instances", "1"))
	m := snap.Build().Set("innodb_buffer_pool_size", "68719476736").Set("innodb_buffer_pool_instances", "8")
	m.S.Target.Version = "10.3.39"
	silent(t, poolLayout, "a MariaDB that still has instances", m)
}
