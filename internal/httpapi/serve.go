package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Serve answers on l until ctx ends, then lets answers under way end for up to 5 seconds. It closes l.
// One caller has a part of the connections at most; those that are too many are closed.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	all := newConns(log)
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      2 * time.Minute, // of what sets no deadline of its own
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10, // a line of five bytes takes ninety of memory
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ConnContext:       all.context,
		ConnState:         all.state,
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	end() // streams never end by themselves, and a query nobody waits for need not
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := s.Shutdown(grace)
	if err != nil {
		err = s.Close()
	}
	if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
