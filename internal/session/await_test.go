package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// An answer that is longer than what is read of one is no silence: it is told at
// once, by an error that accuses nobody.
func TestAnAnswerThatIsTooLongIsNoSilence(t *testing.T) {
	answer := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"text":"%s"}}`, id, strings.Repeat("x", transport.DefaultLineLimit))
	}
	stdio := bareSession(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		lines := bufio.NewScanner(in)
		for id := 1; lines.Scan(); id++ {
			if _, err := io.WriteString(out, answer(id)+"\n"); err != nil {
				return err
			}
		}
		return lines.Err()
	})
	for name, s := range map[string]*Session{
		"stdio":  stdio,
		"JSON":   over(t, spec.V2025_11_25, answering(nil, says{"", jsonType, answer(1)})),
		"stream": over(t, spec.V2025_11_25, answering(nil, says{"", streamType, "data: " + answer(1) + "\n\n"})),
	} {
		s.opts.Timeout = time.Minute // nothing is waited out
		var long *TooLong
		var none *NoAnswer
		if _, err := s.Request(t.Context(), "ping", nil); !errors.As(err, &long) || errors.As(err, &none) || !strings.Contains(err.Error(), "bytes are kept") {
			t.Errorf("%s: %.200v", name, err)
		}
		if live := s.Liveness(t.Context()); live != Alive {
			t.Errorf("%s: it is %s", name, live)
		}
	}
}

// A line without end that is no message is silence.
func TestALongLineThatIsNoMessageIsNoAnswer(t *testing.T) {
	s := bareSession(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		_, err := io.WriteString(out, strings.Repeat("x", transport.DefaultLineLimit+1)+"\n")
		_, _ = io.Copy(io.Discard, in)
		return err
	})
	s.first = 0
	var none *NoAnswer
	if _, err := s.Request(t.Context(), "ping", nil); !errors.As(err, &none) || none.State != Desync {
		t.Errorf("%v", err)
	}
}

// What came in answer to another POST, however long, is not the answer to this
// one.
func TestALongAnswerToAnotherPostIsPassedOver(t *testing.T) {
	long := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "tools/list") {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"text":"%s"}}`, strings.Repeat("x", 100))
			close(long)
			return
		}
		<-long
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	}))
	t.Cleanup(server.Close)
	at, err := transport.NewEndpoint(server.URL, transport.HTTPOptions{Limit: 80})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLauncher(transport.Site{Endpoint: at, Kind: transport.HTTP}, Defaults())
	t.Cleanup(l.Close)
	s, err := NewPool(l, spec.V2025_11_25).Bare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Start(t.Context(), "tools/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	ping, err := s.Start(t.Context(), "ping", nil)
	if err != nil {
		t.Fatal(err)
	}
	var tooLong *TooLong
	if _, err := first.Answer(t.Context()); !errors.As(err, &tooLong) {
		t.Errorf("%v", err)
	}
	if _, err := ping.Answer(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
}

// A server that has ended is dead, though a process that it started holds its
// output open.
func TestAServerThatEndedIsDeadThoughItsOutputIsHeld(t *testing.T) {
	t.Parallel()
	o := Defaults()
	o.Timeout, o.StartTimeout, o.Grace = 300*time.Millisecond, 300*time.Millisecond, 50*time.Millisecond
	l := NewLauncher(transport.Command{Argv: []string{"sh", "-c", "exec 3<&0; sleep 60 <&3 & read line; exit 3"}}, o)
	t.Cleanup(l.Close)
	s, err := NewPool(l, spec.V2025_11_25).Bare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Request(t.Context(), "ping", nil)
	var none *NoAnswer
	if !errors.As(err, &none) || none.State != Dead || !strings.Contains(err.Error(), "server ended (exit status 3), while a process") {
		t.Errorf("%v", err)
	}
	if live := s.Liveness(t.Context()); live != Dead {
		t.Errorf("it is %s", live)
	}
}
