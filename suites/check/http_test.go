package check

import (
	"net/url"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// webHandle returns a handle on a session with the reference over HTTP.
func webHandle(t *testing.T) *T {
	t.Helper()
	site, end, err := server.HTTPTarget(transport.HTTP, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	o := session.DefaultOptions()
	o.Timeout, o.Grace = 2*time.Second, time.Second
	return handle(t, t.Context(), session.NewPool(session.NewLauncher(site, o), spec.V2025_11_25))
}

func TestConcurrentPostsKeepTheirOrder(t *testing.T) {
	h := webHandle(t)
	var posts []Posting
	var ids []wire.ID
	for range 20 {
		id := h.NextID()
		ids = append(ids, id)
		posts = append(posts, Posting{Raw: h.Frame(id, "ping", nil)})
	}
	posts[7].Edits = []Edit{With("Mcp-Session-Id", "nobody")}
	for i, x := range h.HTTP().Together(posts) {
		switch {
		case x == nil:
			t.Fatalf("post %d has no answer", i)
		case i == 7 && x.Status != 404:
			t.Errorf("the post that was changed was answered with %s", Describe(x))
		case i != 7:
			if m, ok := h.HTTP().Response(x); !ok || !m.ID().Equal(ids[i]) {
				t.Errorf("post %d, id %s, has the answer %s", i, ids[i], Describe(x))
			}
		}
	}
}

func TestMarksExchangeInItsOwnSessionOnly(t *testing.T) {
	here, there := webHandle(t), webHandle(t)
	x := here.HTTP().Post(here.Frame(here.NextID(), "ping", nil))
	here.HTTP().Post(here.Frame(here.NextID(), "ping", nil))
	if here.HTTP().Mark(x); here.Marked() != x.FrameIndex {
		t.Errorf("frame %d is marked, not %d", here.Marked(), x.FrameIndex)
	}
	there.HTTP().Post(there.Frame(there.NextID(), "ping", nil)) // the same exchange number in the other session
	for _, e := range there.s.AllEntriesFrom(0) {
		if x.IsRequestFrame(e.Frame) {
			t.Errorf("frame %d of another session is found as the request", e.Index)
		}
	}
}

func TestDetectsLoopbackHosts(t *testing.T) {
	h := webHandle(t)
	at := h.HTTP().URL()
	for host, want := range map[string]bool{
		"localhost:80": true, "127.0.0.1:80": true, "127.9.9.9": true, "[::1]:80": true,
		"localhost.example:80": false, "192.0.2.1": false, "[2001:db8::1]": false, "example.com": false,
	} {
		*at = url.URL{Scheme: "http", Host: host}
		if IsLoopback(h.HTTP().URL()) != want {
			t.Errorf("%s: %v", host, !want)
		}
	}
	if on := handle(t, t.Context(), pool()); IsLoopback(on.HTTP().URL()) || on.HTTP().URL() != nil {
		t.Error("a server over stdio has an endpoint")
	}
}
