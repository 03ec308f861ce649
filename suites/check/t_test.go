package check

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// newEchoEnv returns an environment whose server answers every request with the line of
// the request and the number of the instance.
func newEchoEnv(t *testing.T, revision spec.Revision, o session.Options) Env {
	t.Helper()
	instance := 0
	target := transport.InProcess{Name: "echo", Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
		instance++
		name := instance
		for lines := bufio.NewScanner(in); lines.Scan(); {
			m := wire.Parse(lines.Bytes())
			if m.Kind == wire.Request {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":`+
					`{"protocolVersion":%q,"instance":%d,"asked":%s}}`+"\n", m.ID().Raw, revision, name, m.Raw)
			}
		}
		return nil
	}}
	l := session.NewLauncher(target, o)
	t.Cleanup(l.Close)
	pool := session.NewPool(l, revision)
	if o, _, err := pool.OpenFirst(t.Context(), time.Second); err != nil || !o.Spoken {
		t.Fatalf("open: %+v, %v", o, err)
	}
	return Env{Pool: pool}
}

func shortDeadlines() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.Grace = time.Second, 200*time.Millisecond
	return o
}

func TestFailOnAnotherSessionShowsItsFrames(t *testing.T) {
	env := newEchoEnv(t, spec.V2025_11_25, shortDeadlines())
	instances := []int64{}
	key := NewKey[*T]("kept")
	body := func(t *T) {
		kept := Once(t, key, func() *T {
			at := t.Sessions().Unopened()
			m, _ := at.Try("mcpcheck/first", nil).Answer()
			instances = append(instances, m.Result().Get("instance").Int())
			return at
		})
		t.Request("ping", nil)
		t.Sessions().Use(kept).Fail("nothing", "something", "the other session is at fault")
	}
	for _, id := range []string{"a.one", "a.two"} {
		o := Run(t.Context(), Check{ID: id, Probe: body}, env)
		if o.State != Violated || o.Detail != "the other session is at fault" {
			t.Fatalf("%s: %+v", id, o)
		}
		if len(o.Frames) != 2 || !strings.Contains(string(o.Frames[0].Raw), "mcpcheck/first") || !o.Frames[1].Marked {
			t.Errorf("%s shows %d frames: %v", id, len(o.Frames), o.Frames)
		}
	}
	if len(instances) != 1 {
		t.Errorf("the body ran %d times", len(instances))
	}
}

func TestUnopenedAtUsesItsOwnRevision(t *testing.T) {
	env := newEchoEnv(t, spec.V2025_11_25, shortDeadlines())
	o := Run(t.Context(), Check{ID: "a.b", Probe: func(t *T) {
		t.Saw()
		on := t.Sessions().UnopenedAt(spec.V2026_07_28)
		if on.Rev != spec.V2026_07_28 || !on.Facts.Stateless || t.Rev != spec.V2025_11_25 {
			t.Fail("the facts of the revision", string(on.Rev), "the handle is of another revision")
		}
		m, ok := on.Try("ping", nil).Answer()
		if meta := m.Result().Get("asked.params._meta"); !ok || !meta.IsObject() {
			t.Fail("a stamped request", m.Summary(), "the request had no _meta")
		}
	}}, env)
	if o.State != Kept {
		t.Errorf("%+v", o)
	}
	var revisions []spec.Revision
	for _, s := range env.Pool.Sessions() {
		revisions = append(revisions, s.Rev)
	}
	if len(revisions) != 2 || revisions[1] != spec.V2026_07_28 {
		t.Errorf("the pool holds sessions of %v", revisions)
	}
}

// What the body of a probe has the client answer, the next body does not.
func TestAnswerHoldsUntilTheBodyEnds(t *testing.T) {
	options := shortDeadlines()
	options.Host = session.FullHost()
	l := session.NewLauncher(server.Target("reference", server.Options{}), options)
	t.Cleanup(l.Close)
	pool := session.NewPool(l, spec.V2025_11_25)
	if o, _, err := pool.OpenFirst(t.Context(), 10*time.Second); err != nil || !o.Spoken {
		t.Fatalf("open: %+v, %v", o, err)
	}
	for _, declines := range []bool{true, false} {
		o := Run(t.Context(), Check{ID: "a.b", Probe: func(t *T) {
			if declines {
				t.Client().Answer(func(HostRequest) HostReply { return HostReply{Result: Params{"action": "decline"}} })
			}
			m, _ := t.Client().Invoke("tools/call", Params{"name": "register_reader", "arguments": Params{}}).Answer()
			if got := m.Result().Get("content.0.text").Str; strings.HasPrefix(got, "Welcome") == declines {
				t.Fail("the answer of this body", got, "the tool returned the answer of another body")
			}
			t.Saw()
		}}, Env{Pool: pool})
		if o.State != Kept {
			t.Errorf("declines %t: %+v", declines, o)
		}
	}
}

func TestSendChunksRecordsOneFrame(t *testing.T) {
	env := newEchoEnv(t, spec.V2025_11_25, shortDeadlines())
	paused := 0
	o := Run(t.Context(), Check{ID: "a.b", Probe: func(t *T) {
		t.Saw()
		id := t.NextID()
		frame := t.Frame(id, "ping", nil) + "\n"
		from := t.SendChunks(func(int) { paused++ }, frame[:9], frame[9:])
		if _, ok := t.Await(from, func(m wire.Message) bool { return m.ID().Equal(id) }); !ok {
			t.Fatalf("no answer")
		}
		if sent := FrameAt(t, from); sent.From != wire.Client || sent.Message.Kind != wire.Request {
			t.Fatalf("recorded %v", sent)
		}
	}}, env)
	if o.State != Kept || paused != 1 {
		t.Errorf("paused %d times, %+v", paused, o)
	}
}
