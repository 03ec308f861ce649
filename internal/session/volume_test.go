package session

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// notifying returns a server that sends a number of notifications before each answer.
func notifying(count func(m wire.Message) int) transport.Target {
	return transport.InProcess{Name: "notifying", Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			m := wire.Parse(lines.Bytes())
			if m.Kind != wire.Request {
				continue
			}
			notifications := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tick"}`+"\n", count(m))
			answer := `{"jsonrpc":"2.0","id":` + m.ID().Raw +
				`,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}` + "\n"
			if _, err := io.WriteString(out, notifications+answer); err != nil {
				return nil
			}
		}
		return nil
	}}
}

// A long session with many messages per request is no flood. The next caller gets
// another session before the limit of a session is reached.
func TestLongSessionIsReplacedBeforeTheLimit(t *testing.T) {
	o := DefaultOptions()
	o.MaxFrames = 40
	p := NewPool(NewLauncher(notifying(func(wire.Message) int { return 5 }), o), spec.V2025_11_25)
	defer p.Close()
	first, err := p.Shared(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // 120 frames
		if err := first.AwaitBarrier(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.ConnectionError(); err != nil {
		t.Errorf("the session has ended: %v", err)
	}
	second, err := p.Shared(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	third, err := p.Shared(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if second == first || third != second {
		t.Error("the session near the limit is not replaced, or another one is")
	}
	if end := first.Ending(); end == nil || !end.Graceful {
		t.Errorf("the replaced session ended with %+v", end)
	}
}

// A pool keeps of the sessions that have ended as much as one peer may send at once, and the
// newest two: the records of others are dropped, the largest first.
func TestPoolDropsRecordsOfEndedSessions(t *testing.T) {
	o := DefaultOptions()
	o.MaxBytes = 4000
	p := NewPool(NewLauncher(notifying(func(wire.Message) int { return 20 }), o), spec.V2025_11_25)
	defer p.Close()
	var all []*Session
	for range 8 {
		s, err := p.NewSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		all = append(all, s)
	}
	if _, err := p.NewSession(t.Context()); err != nil {
		t.Fatal(err)
	}
	dropped, size := p.Dropped()
	kept := p.Sessions()
	if dropped == 0 || size <= 0 || int(dropped) != len(all)+1-len(kept) {
		t.Fatalf("%d sessions were dropped with %d bytes, %d are kept", dropped, size, len(kept))
	}
	if kept[len(kept)-2] != all[len(all)-1] {
		t.Error("the newest session that ended is not kept")
	}
	for _, s := range all {
		isKept := slices.Contains(kept, s)
		if hasBytes := len(s.Frames(0)[0].Raw) > 0; hasBytes != isKept {
			t.Errorf("a session is kept: %v, its frames have bytes: %v", isKept, hasBytes)
		}
	}
	p.Close()
	if p.Release(); len(p.Sessions()) != 0 {
		t.Error("a released pool has sessions")
	}
}

// A flood is more than the limit after one request, or several times the limit in a
// session.
func TestFloodEndsTheSession(t *testing.T) {
	for name, c := range map[string]struct{ each, requests int }{
		"at once": {41, 1},
		"in all":  {30, 6},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.MaxFrames = 40
			p := NewPool(NewLauncher(notifying(func(m wire.Message) int {
				if m.Method() == "initialize" {
					return 0
				}
				return c.each
			}), o), spec.V2025_11_25)
			defer p.Close()
			s, err := p.NewSession(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range c.requests {
				err = s.AwaitBarrier(t.Context())
			}
			if endErr := s.ConnectionError(); endErr == nil || !strings.Contains(endErr.Error(), "flooded") ||
				err == nil {
				t.Errorf("the session ended with %v, the last request returned %v", endErr, err)
			}
		})
	}
}
