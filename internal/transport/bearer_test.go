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

// An endpoint of another user sends the other's token, and what goes to strangers
// has none; neither is recorded, in a header or in the query.
func TestTokensGoWhereTheyBelong(t *testing.T) {
	var got []*http.Request
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = append(got, r) }))
	defer site.Close()
	own, err := NewEndpoint(site.URL, HTTPOptions{Header: http.Header{"Authorization": {"Bearer first"}, "X-Api-Key": {"first-key"}}})
	if err != nil {
		t.Fatal(err)
	}
	other := own.WithBearer("second")
	if own.Bearer() != "first" || other.Bearer() != "second" {
		t.Fatalf("the tokens are %q and %q", own.Bearer(), other.Bearer())
	}
	if bare, err := NewEndpoint(site.URL, HTTPOptions{Header: http.Header{"Authorization": {"Basic first"}}}); err != nil || bare.Bearer() != "" {
		t.Errorf("basic credentials are the token %q: %v", bare.Bearer(), err)
	}
	query, err := url.Parse(site.URL + "/mcp?a=b&access_token=first")
	if err != nil {
		t.Fatal(err)
	}
	var frames []wire.Frame
	for _, c := range []struct {
		at   *Endpoint
		r    HTTPRequest
		sent http.Header
	}{
		{own, HTTPRequest{Method: "GET"}, http.Header{"Authorization": {"Bearer first"}, "X-Api-Key": {"first-key"}}},
		{other, HTTPRequest{Method: "GET"}, http.Header{"Authorization": {"Bearer second"}, "X-Api-Key": {"first-key"}}},
		{own, HTTPRequest{Method: "GET", Strange: true}, http.Header{}},
		{own, HTTPRequest{Method: "GET", URL: query, Header: http.Header{"Authorization": nil}}, http.Header{"X-Api-Key": {"first-key"}}},
	} {
		s := &Streamable{Endpoint: c.at, Record: func(f wire.Frame) int { frames = append(frames, f); return len(frames) - 1 }}
		s.Open()
		if _, err := s.Exchange(t.Context(), c.r); err != nil {
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
