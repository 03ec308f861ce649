package session

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func bareSession(t *testing.T, serve func(ctx context.Context, in io.Reader, out io.Writer) error) *Session {
	t.Helper()
	o := Defaults()
	o.Timeout, o.Grace = 100*time.Millisecond, 50*time.Millisecond
	l := NewLauncher(transport.InProcess{Name: "test", Serve: serve}, o)
	t.Cleanup(l.Close)
	s, err := NewPool(l, spec.V2025_11_25).Bare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stubborn(ctx context.Context, in io.Reader, _ io.Writer) error {
	io.Copy(io.Discard, in)
	<-ctx.Done()
	return nil
}

// An ending tells apart who left by itself, who was given time and did not,
// and who was given none.
func TestAnEndingTellsHowLongThePeerWasWaitedFor(t *testing.T) {
	obedient := bareSession(t, func(_ context.Context, in io.Reader, _ io.Writer) error {
		_, err := io.Copy(io.Discard, in)
		return err
	})
	obedient.Close()
	if e := obedient.Ending(); !e.Graceful || e.Waited != 0 {
		t.Errorf("who left by itself: %+v", *e)
	}
	stays := bareSession(t, stubborn)
	stays.Close()
	if e := stays.Ending(); e.Graceful || e.Waited < 50*time.Millisecond {
		t.Errorf("who stayed: %+v", *e)
	}
	killed := bareSession(t, stubborn)
	killed.Kill()
	if e := killed.Ending(); e.Graceful || e.Waited != 0 {
		t.Errorf("who was killed: %+v", *e)
	}
}

// Who takes longer than the grace may be on a busy machine; who takes all of
// the timeout stays, and the next of its kind is given the grace alone.
func TestWhoLeavesSlowlyDoesNotStay(t *testing.T) {
	t.Parallel()
	o := Defaults()
	o.Timeout, o.Grace = 500*time.Millisecond, 20*time.Millisecond
	for _, c := range []struct {
		name  string
		takes time.Duration
		stays bool
	}{
		{"slow", 80 * time.Millisecond, false},
		{"for ever", time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLauncher(transport.InProcess{Name: "test", Serve: func(ctx context.Context, in io.Reader, _ io.Writer) error {
				io.Copy(io.Discard, in)
				select {
				case <-time.After(c.takes):
				case <-ctx.Done():
				}
				return nil
			}}, o)
			defer l.Close()
			for n := range 2 {
				s, err := NewPool(l, spec.V2025_11_25).Bare(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
				e := s.Ending()
				if e.Graceful == c.stays {
					t.Errorf("instance %d: graceful is %v", n, e.Graceful)
				}
				if c.stays && (n == 0) != (e.Waited >= o.Timeout) {
					t.Errorf("instance %d was waited for %s", n, e.Waited)
				}
			}
		})
	}
}

func TestTheFirstAnswerOfAnInstanceMayTakeLonger(t *testing.T) {
	t.Parallel()
	s := bareSession(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		io.WriteString(out, "\n")
		_, err := io.Copy(io.Discard, in)
		return err
	})
	if _, err := s.Await(t.Context(), 0, 300*time.Millisecond, func(wire.Message) bool { return false }); err == nil {
		t.Fatal("an empty line was taken for an answer")
	}
	if got := s.Patience(); got != 100*time.Millisecond {
		t.Errorf("patience after the first sign of life is %s", got)
	}
	if got := bareSession(t, stubborn).Patience(); got != Defaults().StartTimeout {
		t.Errorf("patience before it is %s", got)
	}
}

func TestTheFirstAnswerIsWaitedForGenerouslyAndWithinBounds(t *testing.T) {
	o := Options{Timeout: 10 * time.Second, StartTimeout: time.Minute}
	for took, want := range map[time.Duration]time.Duration{
		time.Millisecond: 30 * time.Second,
		10 * time.Second: 40 * time.Second,
		50 * time.Second: time.Minute,
	} {
		if got := o.First(took); got != want {
			t.Errorf("after one that took %s the next is waited for %s, not %s", took, got, want)
		}
	}
	o.StartTimeout = time.Second
	if got := o.First(0); got != o.Timeout {
		t.Errorf("it is waited for %s, and any other answer %s", got, o.Timeout)
	}
}

func TestASlowStarterMayLeaveSlowly(t *testing.T) {
	s := bareSession(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		time.Sleep(25 * time.Millisecond)
		io.WriteString(out, "\n")
		_, err := io.Copy(io.Discard, in)
		return err
	})
	if got := s.leave(); got != 50*time.Millisecond {
		t.Errorf("before it said anything it is given %s", got)
	}
	if _, err := s.Send(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Await(t.Context(), 0, time.Second, func(wire.Message) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got := s.leave(); got <= 50*time.Millisecond || got > 100*time.Millisecond {
		t.Errorf("after a start of more than 20 ms it is given %s", got)
	}
}

// What a peer writes when its input ends is part of the session.
func TestLastWordsAreRead(t *testing.T) {
	const lines = 500
	s := bareSession(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		io.Copy(io.Discard, in)
		for range lines {
			io.WriteString(out, "{}\n")
		}
		return nil
	})
	s.Close()
	if n := s.Len(); n != lines {
		t.Errorf("%d of %d lines were read", n, lines)
	}
}

// An open subscription owes no answer: its server is given time to leave.
func TestAnOpenSubscriptionIsNoWork(t *testing.T) {
	s := bareSession(t, stubborn)
	for _, method := range []string{"subscriptions/listen", "tools/list"} {
		if _, err := s.Send(t.Context(), Frame(wire.IntID(1), method, nil)); err != nil {
			t.Fatal(err)
		}
		if got := s.busy(); got != (method == "tools/list") {
			t.Errorf("busy after %s: %t", method, got)
		}
	}
}
