package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The patience is the median latency times what is queued, within its bounds.
func TestPatienceFollowsThePeer(t *testing.T) {
	const timeout = time.Second
	for _, c := range []struct {
		latencies []time.Duration
		queued    int
		want      time.Duration
	}{
		{nil, 5, timeout},
		{[]time.Duration{1, 2, 3}, 5, timeout},
		{[]time.Duration{time.Second / 2, time.Second / 2, time.Hour}, 4, 2500 * time.Millisecond},
		{[]time.Duration{time.Second}, 20, 4 * timeout},
	} {
		p := pace{latencies: c.latencies, queued: map[string]time.Time{}}
		for i := range c.queued {
			p.queued[fmt.Sprint(i)] = time.Now()
		}
		if got := p.patience(timeout); got != c.want {
			t.Errorf("%v, %d queued: the patience is %s, want %s", c.latencies, c.queued, got, c.want)
		}
	}
}

// The latencies of a peer that answers one request after another are those of the single
// answers. A subscription is not queued, since its answer ends it.
func TestLatencyIsThatOfOneAnswer(t *testing.T) {
	var p pace
	for id, method := range []string{"ping", "ping", "subscriptions/listen"} {
		p.sent(wire.Parse(wire.EncodeCall(wire.IntID(int64(id)), method, nil)))
	}
	if len(p.queued) != 2 {
		t.Errorf("%d requests are queued", len(p.queued))
	}
	for key := range p.queued {
		p.queued[key] = time.Now().Add(-time.Hour)
	}
	for id := range 3 {
		p.came(wire.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, id)))
	}
	if len(p.latencies) != 2 || p.latencies[0] < time.Hour || p.latencies[1] >= time.Hour || len(p.queued) != 0 {
		t.Errorf("latencies %v, %d queued", p.latencies, len(p.queued))
	}
}

// answerAfter serves requests one after another: the answer to the method comes after
// the release was received.
func answerAfter(method string, release <-chan struct{}) func(context.Context, io.Reader, io.Writer) error {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			m := wire.Parse(lines.Bytes())
			if m.Method() == method {
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID().Raw)
		}
		return nil
	}
}

// An answer that comes after the deadline and before that of the request which tests
// the liveness is late, not missing.
func TestLateAnswerIsNotMissing(t *testing.T) {
	for name, request := range map[string]func(s *Session) (wire.Entry, error){
		"request": func(s *Session) (wire.Entry, error) { return s.Request(t.Context(), "slow", nil) },
		"awaited": func(s *Session) (wire.Entry, error) {
			call, err := s.Start(t.Context(), "slow", nil)
			if err != nil {
				return wire.Entry{}, err
			}
			return s.AwaitDue(t.Context(), call.FrameIndex, wire.Message.IsResponse)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireLate(t, request)
		})
	}
}

func requireLate(t *testing.T, request func(s *Session) (wire.Entry, error)) {
	t.Helper()
	release := make(chan struct{})
	o := DefaultOptions()
	o.Timeout, o.StartTimeout = 2*time.Second, 0
	l := NewLauncher(transport.InProcess{Name: "slow", Serve: answerAfter("slow", release)}, o)
	t.Cleanup(l.Close)
	s, err := NewPool(l, spec.V2025_11_25).Unopened(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for s.Len() < 2 { // until the request behind the slow one is sent
			time.Sleep(time.Millisecond)
		}
		close(release)
	}()
	e, err := request(s)
	if err != nil || e.Message.Kind != wire.Result || s.Lateness(e.Index) < o.Timeout {
		t.Errorf("%v, late by %s: %v", e.Message.Summary(), s.Lateness(e.Index), err)
	}
	if e, err = s.Request(t.Context(), "ping", nil); err != nil || s.Lateness(e.Index) != 0 {
		t.Errorf("an answer in time is late by %s: %v", s.Lateness(e.Index), err)
	}
}

// An answer without a deadline of its own that never comes is missing.
func TestMissingAnswerIsMissing(t *testing.T) {
	s := unopened(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			if m := wire.Parse(lines.Bytes()); m.Method() == "ping" {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID().Raw)
			}
		}
		return nil
	})
	s.firstTimeout = 0
	var none *NoAnswerError
	if _, err := s.Request(t.Context(), "x", nil); !errors.As(err, &none) || none.State != Mute || !none.IsTimeout() {
		t.Errorf("%v", err)
	}
}

// No two sessions of a launcher use one id.
func TestIDsAreUniqueOverSessions(t *testing.T) {
	o := DefaultOptions()
	o.Timeout, o.Grace = 50*time.Millisecond, 50*time.Millisecond
	l := NewLauncher(transport.InProcess{Name: "test", Serve: neverExits}, o)
	t.Cleanup(l.Close)
	used := map[string]bool{}
	for _, rev := range []spec.Revision{spec.V2025_06_18, spec.V2025_11_25} {
		p := NewPool(l, rev)
		for range 3 {
			s, err := p.Unopened(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				id := s.NextID().Raw
				if used[id] {
					t.Fatalf("id %s is used twice", id)
				}
				used[id] = true
			}
		}
	}
}
