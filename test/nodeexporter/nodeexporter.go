// Package nodeexporter runs a real node_exporter on loopback, for tests.
package nodeexporter

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/program"
)

// Start runs one until the test ends, and returns the URL of its page. It also shows the filesystems that containers
// have, which it leaves out unless told.
func Start(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("DYNO_TEST_PEERS")
	if dir == "" {
		t.Fatal("DYNO_TEST_PEERS names no folder with the programs: run build/peers")
	}
	addr := program.Address(t)
	cmd := exec.Command(filepath.Join(dir, "usr/bin/prometheus-node-exporter"), "--web.listen-address="+addr,
		"--collector.filesystem.fs-types-exclude=^(proc|sysfs|cgroup2?)$", "--collector.sysctl",
		"--collector.sysctl.include=vm.swappiness")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: build/peers downloads node_exporter into a new folder", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended //nolint:errcheck // it was killed
	})
	url := "http://" + addr + "/metrics"
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		_, err := get(url)
		if err == nil {
			return url
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("node_exporter ended: %v\n%s", err, log.String())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("node_exporter does not answer: %v", err)
		}
	}
}

// Changed serves the page of url with change made to it, and returns its URL.
func Changed(t testing.TB, url string, change func(page []byte) []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		page, err := get(url)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Write(change(page)) //nolint:errcheck // the other end may close at any time
	}))
	t.Cleanup(s.Close)
	return s.URL + "/metrics"
}

func get(url string) ([]byte, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
