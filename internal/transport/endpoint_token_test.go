package transport

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{"Bearer first": "first", "Basic first": "", "": ""} {
		e, err := NewEndpoint("http://127.0.0.1/", HTTPOptions{Header: http.Header{"Authorization": {header}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Bearer(); got != want {
			t.Errorf("the token of %q is %q", header, got)
		}
	}
}

// An endpoint of another user sends the token of that user, and a request to another
// server has none. No token is recorded, neither of a header nor of the query.
func TestTokensAreSentAndNotRecorded(t *testing.T) {
	var got []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r)
	}))
	defer server.Close()
	both := http.Header{"Authorization": {"Bearer first"}, "X-Api-Key": {"first-key"}}
	own, err := NewEndpoint(server.URL, HTTPOptions{Header: both})
	if err != nil {
		t.Fatal(err)
	}
	other := own.WithBearer("second")
	if own.Bearer() != "first" || other.Bearer() != "second" {
		t.Fatalf("the tokens are %q and %q", own.Bearer(), other.Bearer())
	}
	query, err := url.Parse(server.URL + "/mcp?a=b&access_token=first")
	if err != nil {
		t.Fatal(err)
	}
	var frames []wire.Frame
	record := func(f wire.Frame) int {
		frames = append(frames, f)
		return len(frames) - 1
	}
	otherUser := http.Header{"Authorization": {"Bearer second"}, "X-Api-Key": {"first-key"}}
	keyOnly := http.Header{"X-Api-Key": {"first-key"}}
	for _, c := range []struct {
		at   *Endpoint
		r    HTTPRequest
		sent http.Header
	}{
		{own, HTTPRequest{Method: "GET"}, both},
		{other, HTTPRequest{Method: "GET"}, otherUser},
		{own, HTTPRequest{Method: "GET", OmitEndpointHeader: true}, http.Header{}},
		{own, HTTPRequest{Method: "GET", URL: query, Header: http.Header{"Authorization": nil}}, keyOnly},
	} {
		s := &Streamable{Endpoint: c.at, Record: record}
		s.Open()
		if _, err := s.StartExchange(t.Context(), c.r); err != nil {
			t.Fatal(err)
		}
		s.Close(context.Background())
		for _, key := range []string{"Authorization", "X-Api-Key"} {
			if sent := got[len(got)-1].Header.Get(key); sent != c.sent.Get(key) {
				t.Errorf("%+v: %s is %q", c.r, key, sent)
			}
		}
	}
	if got[3].URL.Query().Get("access_token") != "first" {
		t.Error("the token in the query was not sent")
	}
	for _, f := range frames {
		if line := string(f.AppendJSON(nil)); strings.Contains(line, "first") || strings.Contains(line, "second") {
			t.Errorf("a token is recorded: %s", line)
		}
	}
}
