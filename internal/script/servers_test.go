package script

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// requestingServer is the name of the server that sends a forbidden request.
const requestingServer = "requesting"

// servers returns all scripted servers.
func servers() map[string]Server {
	all := map[string]Server{
		"oldest revision":           OldestRevisionServer(),
		"unknown version":           UnknownVersionServer(),
		"stateless only":            StatelessOnlyServer(),
		"unknown stateless version": UnknownStatelessVersionServer(),
		"no capabilities":           ServerWithoutCapabilities(),
		requestingServer:            RequestingStatelessServer(),
	}
	for _, rev := range spec.Revisions() {
		all["full "+string(rev)] = FullServer(rev)
	}
	return all
}

// All messages of the scripted servers fit the schemas, except for intended
// violations.
func TestMessagesOfServersFitTheSchema(t *testing.T) {
	legacy := client.DefaultOptions()
	legacy.HandshakeFirst = true
	seen := map[string]int{}
	for name, s := range servers() {
		for _, o := range []client.Options{client.DefaultOptions(), legacy} {
			p, err := RunClient(t.Context(), inProcess(func(ctx context.Context, server transport.Starter) error {
				_ = client.Run(ctx, server, o) // fails with a server of an unknown version
				return nil
			}), s, options())
			if err != nil {
				t.Fatal(err)
			}
			for _, transcript := range p.Transcripts {
				checkServerMessages(t, name, s.Rev, transcript, seen)
			}
		}
	}
	for _, method := range []string{
		"server/discover", "initialize", "tools/list", "tools/call", "resources/list", "resources/read",
		"prompts/list", "prompts/get", "ping",
	} {
		if seen[method] == 0 {
			t.Errorf("no answer to %s was seen", method)
		}
	}
}

// checkServerMessages checks the messages of a server against the schema of its
// revision, and counts the results by method.
func checkServerMessages(t *testing.T, name string, rev spec.Revision, of *wire.Transcript, seen map[string]int) {
	t.Helper()
	methods := map[string]string{} // of the requests, by id
	for _, e := range of.Entries() {
		m := e.Message
		if e.From == wire.Client {
			if m.Kind == wire.Request {
				methods[m.ID().Key()] = m.Method()
			}
			continue
		}
		if version := m.Result().Get("protocolVersion").String(); version != "" {
			if r, err := spec.ParseRevision(version); err == nil {
				rev = r
			}
		}
		set := schema.For(rev)
		switch m.Kind {
		case wire.Result:
			method := methods[m.ID().Key()]
			seen[method]++
			def := set.ResultOf(method, []byte(m.Result().Raw))
			if def == "" {
				t.Errorf("%s at %s: %s has no result there", name, rev, method)
				continue
			}
			for _, v := range set.Validate(def, []byte(m.Result().Raw)) {
				t.Errorf("%s at %s: the result of %s: %v\n%s", name, rev, method, v, m.Raw)
			}
		case wire.Request, wire.Notification:
			if strings.Contains(m.Method(), "mcpcheck") || name == requestingServer {
				continue
			}
			if !set.CanSend(wire.Server, m.Method()) {
				t.Errorf("%s at %s: no server sends %s", name, rev, m.Method())
			}
		}
	}
}

// A client that follows cursors gets every page.
func TestListsAreServedInPages(t *testing.T) {
	for _, rev := range spec.Revisions() {
		lists := map[string]string{}
		o := client.DefaultOptions()
		o.Log = func(format string, args ...any) {
			if strings.HasSuffix(format, ": %d") {
				lists[fmt.Sprint(args[0])] = fmt.Sprint(args[1])
			}
		}
		_, err := RunClient(t.Context(), inProcess(func(ctx context.Context, server transport.Starter) error {
			return client.Run(ctx, server, o)
		}), FullServer(rev), options())
		if err != nil || lists["tools/list"] != "3" || lists["resources/list"] != "2" || lists["prompts/list"] != "2" {
			t.Errorf("%s: %v, %v", rev, lists, err)
		}
	}
}
