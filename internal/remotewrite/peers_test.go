package remotewrite

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// receiver is a real store in a process of its own.
type receiver struct {
	name string
	args []string
	addr string
	path string // of remote write
	cmd  *exec.Cmd
	log  string
}

// peer finds a program that the tests are held against.
func peer(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real receiver")
	}
	dir := os.Getenv("DYNO_TEST_PEERS")
	if dir == "" {
		t.Fatal("DYNO_TEST_PEERS names no folder with the programs: run build/peers")
	}
	p := filepath.Join(dir, "usr/bin", name)
	if _, err := os.Stat(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func prometheus(t *testing.T, dir string) *receiver {
	r := &receiver{
		name: peer(t, "prometheus"), addr: "127.0.0.1:" + strconv.Itoa(servers.FreePort(t)),
		path: "/api/v1/write", log: filepath.Join(dir, "log"),
	}
	if err := os.WriteFile(dir+"/prometheus.yml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.args = []string{
		"--config.file=" + dir + "/prometheus.yml", "--storage.tsdb.path=" + dir + "/data",
		"--web.listen-address=" + r.addr, "--web.enable-remote-write-receiver",
	}
	return r
}

func victoria(t *testing.T, dir string, more ...string) *receiver {
	r := &receiver{
		name: peer(t, "victoria-metrics"), addr: "127.0.0.1:" + strconv.Itoa(servers.FreePort(t)),
		path: "/api/v1/write", log: filepath.Join(dir, "log"),
	}
	r.args = append([]string{
		"-storageDataPath=" + dir + "/data", "-httpListenAddr=" + r.addr, "-retentionPeriod=1y",
		"-memory.allowedBytes=64MB",
	}, more...)
	return r
}

func (r *receiver) url() string { return "http://" + r.addr + r.path }

// start starts it, again on the same data, and waits until it answers.
func (r *receiver) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r.cmd = exec.Command(r.name, r.args...)
	r.cmd.Stdout, r.cmd.Stderr = log, log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := r.cmd
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be dead
		_ = cmd.Wait()
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		for _, p := range []string{"/-/ready", "/health"} {
			if resp, err := http.Get("http://" + r.addr + p); err == nil {
				resp.Body.Close()
				if resp.StatusCode == 200 {
					return
				}
			}
		}
		if time.Now().After(end) {
			b, _ := os.ReadFile(r.log)
			t.Fatalf("%s does not answer:\n%s", r.name, b)
		}
	}
}

func (r *receiver) end(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait() // "signal: killed"
}

// held returns every sample that the receiver has of series with the name, by the label n; VictoriaMetrics tells
// markers of an end too, as "end". A moment that is there twice is an error.
func (r *receiver) held(t *testing.T, name string) map[string]map[int64]string {
	t.Helper()
	out := map[string]map[int64]string{}
	put := func(n string, at int64, v string) {
		if out[n] == nil {
			out[n] = map[int64]string{}
		}
		if _, twice := out[n][at]; twice {
			t.Errorf("series %s has the moment %d twice", n, at)
		}
		out[n][at] = v
	}
	if r.prometheus() {
		body := r.get(t, "/api/v1/query?query="+url.QueryEscape(name+"[1h]"))
		var a struct {
			Data struct {
				Result []struct {
					Metric map[string]string
					Values [][2]any
				}
			}
		}
		if err := json.Unmarshal(body, &a); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		for _, s := range a.Data.Result {
			for _, v := range s.Values {
				put(s.Metric["n"], int64(v[0].(float64)*1000+0.5), v[1].(string))
			}
		}
		return out
	}
	r.get(t, "/internal/force_flush")
	d := json.NewDecoder(jsonReader(r.get(t, "/api/v1/export?match[]="+url.QueryEscape(name)+
		"&start=1&end=4000000000")))
	for {
		var s struct {
			Metric     map[string]string
			Values     []*float64
			Timestamps []int64
		}
		if err := d.Decode(&s); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		for i, at := range s.Timestamps {
			if s.Values[i] == nil {
				put(s.Metric["n"], at, "end")
			} else {
				put(s.Metric["n"], at, strconv.FormatFloat(*s.Values[i], 'f', -1, 64))
			}
		}
	}
}

func (r *receiver) get(t *testing.T, path string) []byte {
	t.Helper()
	resp, err := http.Get("http://" + r.addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("%s: %s %s %v", path, resp.Status, b, err)
	}
	return b
}

func (r *receiver) prometheus() bool { return filepath.Base(r.name) == "prometheus" }

// now reports whether the receiver has a value for a selector at a moment.
func (r *receiver) now(t *testing.T, selector string, at int64) bool {
	t.Helper()
	body := r.get(t, fmt.Sprintf("/api/v1/query?query=%s&time=%.3f", url.QueryEscape(selector), float64(at)/1000))
	var a struct {
		Data struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return len(a.Data.Result) > 0
}
