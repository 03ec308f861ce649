package httpsse

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// probes are the probes of basic/transports#http-with-sse of 2024-11-05, and of
// #backwards-compatibility, which later revisions say of it.
func probes() []check.Check {
	only := spec.Only(spec.V2024_11_05)
	return []check.Check{
		{
			ID:    "http-sse.post.taken",
			Says:  "what is posted to the URI that a connection names is taken, and answered on its stream",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-post-endpoint", "http-sse-endpoint-uri"},
			// postTaken speaks the opening on a connection of its own, message by message:
			// that of the session may have been spared what does not fail it, such as a
			// notification that is refused.
			Probe: func(t *check.T) {
				c := connect(t)
				defer c.x.Close()
				take := func(what, raw string) {
					x, err := t.HTTP().TryPost(raw, check.At(c.to))
					switch {
					case err != nil:
						t.Fail("a status of success", err.Error(), "a POST of %s to the URI of the endpoint event was not answered: %v", what, err)
					case !posting.Ok2xx(x):
						t.Fail("a status of success", check.Describe(x), "a POST of %s to the URI of the endpoint event was answered with %s", what, check.Describe(x))
					}
				}
				id := wire.StringID("mcpcheck-own")
				for _, asked := range []struct{ method, raw string }{
					{"initialize", t.Frame(id, "initialize", check.InitializeParams(string(t.Rev)))},
					{"notifications/initialized", posting.Initialized},
					{t.Facts.Barrier, posting.Barrier(t, wire.StringID("mcpcheck-own-too"))},
				} {
					take(asked.method, asked.raw)
					of := wire.Parse([]byte(asked.raw)).ID()
					if !of.Present() {
						continue
					}
					if _, ok := t.HTTP().AwaitMessage(c.x, t.Timeout(), check.ResponseTo(of)); !ok {
						t.Fail("an answer on its stream", "none", "%s was posted to the URI of a connection, and is not answered on the stream of it", asked.method)
					}
				}
			},
		},
		{
			ID:    "http-sse.clients.apart",
			Says:  "two connections that use the same request ids each get the answers to their own requests, once",
			Level: spec.Should,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-multiple-clients"},
			// clientsApart asks two connections for what has unlike results, under the same
			// id: an empty one, and a list.
			Probe: func(t *check.T) {
				// That one at all can be opened is what the session shows.
				x, err := t.HTTP().TryRequest(http.MethodGet, listening)
				switch {
				case err != nil:
					t.Fail("a second stream", err.Error(), "while a session is open no other stream could be opened: %v", err)
				case !posting.Ok2xx(x):
					t.Fail("a second stream", check.Describe(x), "while a session is open no other stream could be opened: the GET was answered with %s", check.Describe(x))
				}
				x.Close()
				one, two := connect(t), connect(t)
				defer one.x.Close()
				defer two.x.Close()
				one.open()
				two.open()
				list := capabilityWithList(t)
				id := wire.StringID("mcpcheck-same")
				one.post(t.Frame(id, t.Facts.Barrier, nil))
				two.post(t.Frame(id, list+"/list", nil))
				for _, c := range []struct {
					*connection
					name  string
					lists bool
				}{{one, "the first", false}, {two, "the second", true}} {
					if _, ok := t.HTTP().AwaitMessage(c.x, t.Timeout(), check.ResponseTo(id)); !ok {
						t.Fail("an answer on its stream", "none", "a request of %s of two connections is not answered on the stream of it", c.name)
					}
					c.settle()
					var got []string
					for _, m := range c.x.Messages() {
						if !check.ResponseTo(id)(m) {
							continue
						}
						got = append(got, m.Summary())
						if strange := m.Kind == wire.Result && m.Result().Get(list).Exists() != c.lists; strange || len(got) > 1 {
							t.Fail("one answer, to its own request", strings.Join(got, ", "), "%s of two connections got an answer to the id that both used, and it is the other's, or one of several", c.name)
						}
					}
				}
			},
		},
		{
			ID:    "http-sse.clients.ended",
			Says:  "what is posted for a connection that has ended is answered to nobody else",
			Level: spec.Should,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-multiple-clients"},
			// clientEnded closes a connection and posts for it. With which status that is
			// refused is not stated.
			Probe: func(t *check.T) {
				bystander := connect(t)
				defer bystander.x.Close()
				bystander.open()
				gone := connect(t)
				gone.open()
				gone.x.Close()
				var ids []wire.ID
				for i := range endedTries {
					id := wire.StringID(fmt.Sprintf("mcpcheck-gone-%d", i))
					ids = append(ids, id)
					x, err := t.HTTP().TryPost(posting.Barrier(t, id), check.At(gone.to))
					bystander.settle()
					if err != nil {
						t.Note("a POST for a connection that has ended is not answered: %v", err)
						break
					}
					if !posting.Ok2xx(x) {
						break
					}
					if i == endedTries-1 {
						t.Note("a POST for a connection that has ended is answered with status %d", x.Status)
					}
				}
				for _, m := range bystander.x.Messages() {
					if m.IsResponse() && slices.ContainsFunc(ids, m.ID().Equal) {
						t.Fail("nothing", m.Summary(), "what was posted for a connection that has ended is answered on another: %s", m.Summary())
					}
				}
			},
		},
		{
			ID:    "http-sse.origin.stream",
			Says:  "a server on the loopback interface opens no stream for a page of another site, as its Origin tells",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-validate-origin"},
			// originOfStream tries to connect as a page of another site would have a browser
			// do it.
			Probe: func(t *check.T) {
				loopbackOnly(t)
				connect(t).x.Close() // without Origin it is served
				noteLenience(t, func(e ...check.Edit) bool { c, _ := tryConnect(t, e...); return c != nil && c.left() })
				refused := false
				for _, s := range strangersOfSSE(t) {
					x, err := t.HTTP().TryRequest(http.MethodGet, append(s.edits, listening)...)
					if err != nil {
						continue
					}
					x.Close()
					if posting.Ok2xx(x) && x.Streams() {
						t.Fail("a refusal", check.Describe(x), "a GET with %s was answered with a stream", s.what)
					}
					refused = refused || posting.IsRefusal(x.Status)
				}
				if !refused {
					t.NotObserved("no GET with a foreign Origin was answered with a stream or refused", "")
				}
			},
		},
		{
			ID:    "http-sse.origin.post",
			Says:  "a server on the loopback interface processes nothing that a page of another site posts, as its Origin tells",
			Level: spec.Must,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-validate-origin"},
			// originOfPost posts to a connection that was opened without Origin, as a page
			// could that has come to know where.
			Probe: func(t *check.T) {
				loopbackOnly(t)
				c := connect(t)
				defer c.x.Close()
				c.open()
				taken := map[string]string{} // by id
				for i, s := range strangersOfSSE(t) {
					id := wire.StringID(fmt.Sprintf("mcpcheck-stranger-%d", i))
					told := "no answer"
					if x, err := t.HTTP().TryPost(posting.Barrier(t, id), append(s.edits, check.At(c.to))...); err == nil {
						told = check.Describe(x)
					}
					taken[id.Key()] = fmt.Sprintf("a POST with %s was processed; the POST itself was answered with %s", s.what, told)
				}
				noteLenience(t, func(e ...check.Edit) bool {
					x, err := t.HTTP().TryPost(posting.Barrier(t), append(e, check.At(c.to))...)
					return err == nil && posting.Ok2xx(x)
				})
				c.settle()
				for _, m := range c.x.Messages() {
					if what, was := taken[m.ID().Key()]; was && m.IsResponse() {
						t.Fail("a refusal", m.Summary(), "%s", what)
					}
				}
			},
		},
		{
			ID:    "http-sse.bind.loopback",
			Says:  "a server that is used over the loopback interface is not reached by other addresses of its machine",
			Level: spec.Should,
			In:    only,
			On:    transport.OnSSE,
			Rules: []string{"http-sse-bind-localhost"},
			// sseBoundToLoopback posts to a connection at the other addresses of this
			// machine. Only that it is answered on the stream of that connection shows that
			// the same server takes it.
			Probe: func(t *check.T) {
				loopbackOnly(t)
				others := t.HTTP().Addresses()
				if len(others) == 0 {
					t.NotObserved("this machine has no address besides those of the loopback interface", "")
				}
				c := connect(t)
				defer c.x.Close()
				c.open()
				unclear := ""
				for i, address := range others[:min(len(others), posting.MaxAddresses)] {
					id := wire.StringID(fmt.Sprintf("mcpcheck-elsewhere-%d", i))
					x, err := t.HTTP().PostAt(address, posting.Barrier(t, id), check.At(c.to))
					switch {
					case posting.IsUnreachable(err):
						continue // nobody listens there
					case err != nil:
						unclear = fmt.Sprintf("whether somebody listens at %s is not known: %v", address, err)
						continue
					}
					c.settle()
					if slices.ContainsFunc(c.x.Messages(), check.ResponseTo(id)) {
						t.Fail("no connection", check.Describe(x), "the server takes messages at %s too, where other machines reach it", address)
					}
					unclear = fmt.Sprintf("something answers at %s, with %s: whether that is the server is not known", address, check.Describe(x))
				}
				if unclear != "" {
					t.NotObserved(unclear, "")
				}
			},
		},
		{
			ID:    "http-sse.hosted.beside",
			Says:  "a server that keeps the stream of HTTP+SSE for older clients beside its MCP endpoint keeps its POST endpoint too",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_03_26),
			On:    transport.OnHTTP,
			Rules: []string{"http-sse-backcompat-server-hosts-both"},
			// hostedBeside looks for the stream where servers that have both keep it: under
			// the URL itself, and beside it as sse. Nobody need keep it.
			Probe: func(t *check.T) {
				beside := *t.HTTP().URL()
				for _, at := range []string{beside.Path, "sse"} {
					to, err := beside.Parse(at)
					if err != nil {
						continue
					}
					c, _ := connectWithin(t, min(t.Timeout(), atOnce), check.At(to), check.Without(posting.SessionField), check.Without(posting.VersionField))
					if c == nil {
						continue
					}
					defer c.x.Close()
					if t.Facts.Stateless {
						t.Note("the server still has HTTP+SSE, at %s, which this revision deprecates", to.Path)
					}
					id := wire.StringID("mcpcheck-older")
					x, err := t.HTTP().TryPost(string(olderInitialize(id)), check.At(c.to))
					if err != nil {
						t.Fail("a status of success", err.Error(), "the POST endpoint that %s names is not answered: %v", to.Path, err)
					}
					if !posting.Ok2xx(x) {
						t.Fail("a status of success", check.Describe(x), "the POST endpoint that %s names answers initialize with %s", to.Path, check.Describe(x))
					}
					if _, ok := t.HTTP().AwaitMessage(c.x, t.Timeout(), check.ResponseTo(id)); !ok {
						t.Fail("an answer on the stream", "none", "initialize, posted to the endpoint that %s names, is not answered on its stream", to.Path)
					}
					return
				}
				t.NotObserved("the server has no stream of HTTP+SSE under its URL or beside it", "only servers for older clients need one")
			},
		},
	}
}

// capabilityWithList returns a declared capability that has a list.
func capabilityWithList(t *check.T) string {
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if t.Declares(capability) {
			return capability
		}
	}
	t.NotObserved("the server declares nothing that has a list, so that all connections are told the same", "")
	return ""
}

// endedTries is how often it is posted for a connection that has ended, of which
// the server may hear a little later.
const endedTries = 5

// atOnce is how soon a stream that is none of HTTP+SSE, and may never say
// anything, would have to begin with its endpoint event to be taken for one.
const atOnce = time.Second
