package service

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"millrace/event"
	"millrace/telemetry"
)

// serve serves health, readiness and metrics until it is stopped.
func (s *Service) serve() (stop func(), err error) {
	if s.config.HTTP == "" {
		return func() {}, nil
	}
	handler, err := telemetry.Handler(s.Snapshot)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", s.config.HTTP)
	if err != nil {
		return nil, &event.Error{
			Class: event.Permanent, Op: "opening the port of health and metrics", Err: err,
			Hint: "another process has the address, or it is none of this machine's: give another one in http.listen or --http",
		}
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.config.Log.Error().Err(err).Msg("health and metrics are not served any more; the worker goes on")
		}
	}()
	s.config.Log.Info().Str("address", "http://"+listener.Addr().String()).Msg("serving /metrics, /healthz and /readyz")
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil { // somebody does not let go
			_ = server.Close()
		}
		<-ended
	}, nil
}

// Snapshot is what is known of this process at the moment. It is safe for
// concurrent use.
func (s *Service) Snapshot() telemetry.Snapshot {
	now := telemetry.Snapshot{Now: time.Now(), Pipeline: s.config.Name, Version: s.config.Build, Calls: s.called()}
	if w := s.working.Load(); w != nil {
		now.Worker = &telemetry.Worker{Stats: w.Stats(), Health: w.Health(), Troubles: w.Troubles(), Lease: cmp.Or(s.config.Lease, 10*time.Second)}
	}
	if letters, known := s.Letters(); known {
		now.Letters = &telemetry.Letters{Sent: s.sent.Load(), Unsent: letters.Unsent, Oldest: letters.Oldest}
	}
	return now
}

// called is what was called until now, in a settled order.
func (s *Service) called() []telemetry.Call {
	if s.calls == nil {
		return nil
	}
	var calls []telemetry.Call
	for c, n := range s.calls.Counts() {
		calls = append(calls, telemetry.Call{Service: c.Service, Operation: c.Operation, Outcome: c.Outcome, N: n})
	}
	slices.SortFunc(calls, func(a, b telemetry.Call) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Outcome, b.Outcome))
	})
	return calls
}
