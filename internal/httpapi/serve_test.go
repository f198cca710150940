package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestListenStaysOnThisMachine(t *testing.T) {
	f := func(address, want string) {
		t.Helper()
		l, err := Listen(t.Context(), address, nil)
		if err == nil {
			l.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Fatalf("%s: got %v", address, err)
		}
	}
	f("127.0.0.1:0", "")
	f("localhost:0", "")
	f("0.0.0.0:0", "only a loopback address")
	f(":0", "only a loopback address")
	f("[::]:0", "only a loopback address")
	f("192.0.2.1:0", "only a loopback address")
	f("example.org:0", "only a loopback address")
	f("127.0.0.1", "the form is")
	f("127.0.0.1:99999", "listen on 127.0.0.1:99999")
}

func TestServeEndsWithStreamsOpen(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l, err := Listen(ctx, "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	v := New(bare(), Options{})
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, v, nil) }()
	url := "http://" + l.Addr().String()
	f := follow(t, url+"/api/dyno/v1/stream", "")
	v.Publish(second("shop", 1))
	f.want("vitals", "shop")
	for n, want := range map[int]int{1000: http.StatusOK, 8000: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/-/healthy", nil)
		good(t, err)
		for i := range n { // of few bytes each, which take many of memory
			r.Header[fmt.Sprintf("%x", i)] = []string{""}
		}
		a, err := http.DefaultClient.Do(r)
		good(t, err)
		a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("%d headers: %s", n, a.Status)
		}
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for a stream that never ends")
	}
	f.want("ended", "")
	if a, err := http.Get(url + "/metrics"); err == nil {
		a.Body.Close()
		t.Fatal("it still answers")
	}
}

func TestServeTellsWhyItCannot(t *testing.T) {
	l, err := Listen(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), l, http.NotFoundHandler(), nil); err == nil ||
		!strings.Contains(err.Error(), "serve on 127.0.0.1") {
		t.Fatalf("got %v", err)
	}
}
