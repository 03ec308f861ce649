package session

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// talkative answers each request after as many notifications as it is told.
func talkative(chatter func(m wire.Message) int) transport.Target {
	return transport.InProcess{Name: "talkative", Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			m := wire.Parse(lines.Bytes())
			if m.Kind != wire.Request {
				continue
			}
			said := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tick"}`+"\n", chatter(m))
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%s,"capabilities":{}}}`+"\n", m.ID().Raw, `"2025-11-25"`)
			if _, err := io.WriteString(out, said+answer); err != nil {
				return nil
			}
		}
		return nil
	}}
}

// However much is said in a session, it is no flood if we asked for each part
// of it; the next check gets another session before it is too much.
func TestALongSessionIsNoFlood(t *testing.T) {
	o := Defaults()
	o.MaxFrames = 40
	p := NewPool(NewLauncher(talkative(func(wire.Message) int { return 5 }), o), spec.V2025_11_25)
	defer p.Close()
	first, err := p.Shared(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // 120 frames
		if err := first.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Over(); err != nil {
		t.Errorf("it is over: %v", err)
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
		t.Error("a worn session is replaced, and another is not")
	}
	if end := first.Ending(); end == nil || !end.Graceful {
		t.Errorf("the worn one ended by %+v", end)
	}
}

// More than the limit at once is a flood, and so is many times the limit in all.
func TestWhatIsAFlood(t *testing.T) {
	for name, c := range map[string]struct{ each, requests int }{
		"at once": {41, 1},
		"in all":  {30, 6},
	} {
		t.Run(name, func(t *testing.T) {
			o := Defaults()
			o.MaxFrames = 40
			p := NewPool(NewLauncher(talkative(func(m wire.Message) int {
				if m.Method() == "initialize" {
					return 0
				}
				return c.each
			}), o), spec.V2025_11_25)
			defer p.Close()
			s, err := p.Fresh(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range c.requests {
				err = s.Barrier(t.Context())
			}
			if over := s.Over(); over == nil || !strings.Contains(over.Error(), "flooded") || err == nil {
				t.Errorf("it is over by %v, the last request came to %v", over, err)
			}
		})
	}
}
