package check

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// servePing answers initialize and ping, and no other request.
func servePing(_ context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		m := wire.Parse(lines.Bytes())
		switch m.Method() {
		case "initialize":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},`+
				`"serverInfo":{"name":"small","version":"1"}}}`+"\n", m.ID().Raw)
		case "ping":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID().Raw)
		}
	}
	return nil
}

// handle returns the handle of a probe on a session of its own.
func handle(t *testing.T, ctx context.Context, pool *session.Pool) *T {
	t.Helper()
	s, err := pool.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &T{Rev: s.Rev, Facts: s.Rev.Facts(), ctx: ctx, s: s, pool: pool, others: &[]*T{}, allow: func(string) bool {
		return false
	}, out: &Outcome{}, from: s.Len(), mark: -1}
}

func pool() *session.Pool {
	o := session.DefaultOptions()
	o.Timeout, o.Grace = 100*time.Millisecond, 100*time.Millisecond
	target := transport.InProcess{Name: "small", Serve: servePing}
	return session.NewPool(session.NewLauncher(target, o), spec.V2025_06_18)
}

func TestMarkIgnoresFramesOfOtherSessions(t *testing.T) {
	p := pool()
	here, there := handle(t, t.Context(), p), handle(t, t.Context(), p)
	mine, err := here.Try("ping", nil).Get()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := there.Try("ping", nil).Get()
	if err != nil {
		t.Fatal(err)
	}
	here.mark = -1
	if here.Mark(theirs); here.mark != -1 {
		t.Errorf("a frame of another session was marked at %d", here.mark)
	}
	if here.Mark(mine); here.mark != mine.Index {
		t.Errorf("mark is %d, want %d", here.mark, mine.Index)
	}
}

// A missing answer to a Try method breaks no rule. The end of the run ends the body.
func TestTryMethodsNeverFail(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	body := handle(t, ctx, pool())
	_, err := body.Try("tools/list", nil).Get()
	var none *session.NoAnswerError
	if !errors.As(err, &none) || none.State != session.Mute {
		t.Errorf("the error is %v", err)
	}
	if body.out.State != Kept {
		t.Errorf("the state is %d: %s", body.out.State, body.out.Detail)
	}
	stop(errors.New("interrupted here"))
	body.body(func(body *T) { body.Try("ping", nil) })
	if body.out.State != NotRun || body.out.Cause != "interrupted here" {
		t.Errorf("after the end the state is %d, the cause %q", body.out.State, body.out.Cause)
	}
}

// Traits of a server hold at every revision, memorized values at their own revision only.
func TestTraitsHoldAtEveryRevision(t *testing.T) {
	launcher := session.NewLauncher(transport.InProcess{Name: "small", Serve: servePing}, session.DefaultOptions())
	on := func(rev spec.Revision) *T { return &T{pool: session.NewPool(launcher, rev), out: &Outcome{}} }
	one, other := on(spec.V2025_06_18), on(spec.V2025_11_25)
	if SetTrait(one, "slow"); !HasTrait(other, "slow") || HasTrait(other, "quick") {
		t.Error("a trait of one revision does not hold at the other, or an unset trait holds")
	}
	n := 0
	key := NewKey[int]("n")
	count := func() int { n++; return n }
	if a, b, c := Once(one, key, count), Once(one, key, count), Once(other, key, count); a != 1 || b != 1 || c != 2 {
		t.Errorf("memos are %d, %d and %d", a, b, c)
	}
}

// A failure within an attempt sets no outcome, and the body continues. A panic of the body
// and the end of the run still end it.
func TestAttemptHasNoOutcome(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	body := handle(t, ctx, pool())
	went := 0
	body.body(func(body *T) {
		Attempt(body, func(body *T) { body.Fail("x", "y", "it fails") })
		went++
		Attempt(body, func(body *T) { body.NotObserved("nothing", "") })
		went++
	})
	if went != 2 || body.out.State != Kept {
		t.Errorf("the body continued %d times, its state is %d: %s", went, body.out.State, body.out.Detail)
	}
	body.body(func(body *T) { Attempt(body, func(*T) { panic("a slip") }) })
	if body.out.State != Broken {
		t.Errorf("after a panic the state is %d", body.out.State)
	}
	body.out = &Outcome{}
	stop(errors.New("interrupted here"))
	body.body(func(body *T) { Attempt(body, func(body *T) { body.Request("ping", nil) }) })
	if body.out.State != NotRun {
		t.Errorf("after the end the state is %d", body.out.State)
	}
}
