package config

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

func files(limit string) *snap.Made {
	return snap.Build().Set("table_open_cache", "4000").Set("max_connections", "500").Set("innodb_open_files", "2000").
		Set("open_files_limit", limit)
}

func TestFileDescriptors(t *testing.T) {
	got := fileDescriptors(files("5000").View())
	if len(got) != 1 || got[0].Severity != finding.Fact || got[0].Setting[0] != "open_files_limit = 10600" {
		// 500 + 2 × 4000 + 2000 + 100
		t.Fatalf("got %+v", got)
	}
	m := files("20000")
	m.S.Host.Limits = map[string]int64{"max_open_files": 1024} // what the process got counts
	if got = fileDescriptors(m.View()); len(got) != 1 || got[0].Title != "the settings may take 10600 file "+
		"descriptors, and the server may have 1024" {
		t.Errorf("got %+v", got)
	}
}

func TestFileDescriptorsSilent(t *testing.T) {
	silent(t, fileDescriptors, "nothing is seen", snap.Build())
	silent(t, fileDescriptors, "enough of them", files("10600"))
	m := files("20000")
	m.S.Host.Limits = map[string]int64{"max_open_files": -1}
	silent(t, fileDescriptors, "no limit of the process", m)
	silent(t, fileDescriptors, "the limit is not known", files("0"))
}
