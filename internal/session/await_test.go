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

// An answer that exceeds the size limit is a separate error, which is returned at once.
func TestTooLongAnswerIsNotMissing(t *testing.T) {
	text := strings.Repeat("x", transport.DefaultLineLimit)
	answer := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"text":"%s"}}`, id, text)
	}
	stdio := unopened(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		lines := bufio.NewScanner(in)
		for id := 1; lines.Scan(); id++ {
			if _, err := io.WriteString(out, answer(id)+"\n"); err != nil {
				return err
			}
		}
		return lines.Err()
	})
	for name, s := range map[string]*Session{
		"stdio": stdio,
		"JSON":  unopenedHTTP(t, spec.V2025_11_25, serveRules(nil, rule{"", jsonType, answer(1)})),
		"stream": unopenedHTTP(t, spec.V2025_11_25,
			serveRules(nil, rule{"", streamType, "data: " + answer(1) + "\n\n"})),
	} {
		s.opts.Timeout = time.Minute // longer than the test may take
		var tooLong *AnswerTooLongError
		var none *NoAnswerError
		if _, err := s.Request(t.Context(), "ping", nil); !errors.As(err, &tooLong) || errors.As(err, &none) {
			t.Errorf("%s: %.200v", name, err)
		}
		if live := s.CheckLiveness(t.Context()); live != Alive {
			t.Errorf("%s: the server is %s", name, live)
		}
	}
}

// A line that is too long and no message is no answer.
func TestTooLongTextIsNoAnswer(t *testing.T) {
	s := unopened(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		_, err := io.WriteString(out, strings.Repeat("x", transport.DefaultLineLimit+1)+"\n")
		_, _ = io.Copy(io.Discard, in)
		return err
	})
	s.firstTimeout = 0
	var none *NoAnswerError
	if _, err := s.Request(t.Context(), "ping", nil); !errors.As(err, &none) || none.State != OutOfSync {
		t.Errorf("%v", err)
	}
}

// A too long answer to another POST is not the answer to this one.
func TestTooLongAnswerToAnotherPostIsSkipped(t *testing.T) {
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
	at, err := transport.NewEndpoint(server.URL, transport.HTTPOptions{ReadLimit: 80})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLauncher(transport.HTTPTarget{Endpoint: at, Kind: transport.HTTP}, DefaultOptions())
	t.Cleanup(l.Close)
	s, err := NewPool(l, spec.V2025_11_25).Unopened(t.Context())
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
	var tooLong *AnswerTooLongError
	if _, err := first.Answer(t.Context()); !errors.As(err, &tooLong) {
		t.Errorf("%v", err)
	}
	if _, err := ping.Answer(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
}

// A server that has ended is dead also while its child holds its output open.
func TestEndedServerIsDeadWhileAChildHoldsItsOutput(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = 300*time.Millisecond, 300*time.Millisecond, 50*time.Millisecond
	l := NewLauncher(transport.Command{Argv: []string{"sh", "-c", "exec 3<&0; sleep 60 <&3 & read line; exit 3"}}, o)
	t.Cleanup(l.Close)
	s, err := NewPool(l, spec.V2025_11_25).Unopened(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Request(t.Context(), "ping", nil)
	var none *NoAnswerError
	if !errors.As(err, &none) || none.State != Dead || !strings.Contains(err.Error(), "server ended (exit status 3)") {
		t.Errorf("%v", err)
	}
	if live := s.CheckLiveness(t.Context()); live != Dead {
		t.Errorf("the server is %s", live)
	}
}
