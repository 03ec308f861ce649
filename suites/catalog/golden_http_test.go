package catalog

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A httpForm writes a golden exchange as a session over streamable HTTP. A request that
// nothing else of the server comes with is answered with a JSON body unless streams is
// true; another one is answered by a stream.
type httpForm struct {
	httpFrames
	rev     spec.Revision
	streams bool
	last    int             // number of the last exchange
	get     int             // number of the exchange with a stream of its own, 0 for none
	open    []*httpExchange // in the order of their requests
	session bool            // the session is open
}

// A httpExchange is a POST with requests that are not all answered.
type httpExchange struct {
	n        int
	waiting  map[string]bool // keys of ids
	tokens   map[string]bool // of progress
	isStream bool
}

// writeOverHTTP returns an exchange over HTTP; ok is false where it has no such form.
func writeOverHTTP(e fixtures.Exchange, streams bool) (frames []wire.Frame, ok bool) {
	f := &httpForm{rev: e.Rev, streams: streams}
	for _, frame := range e.Frames {
		if m := frame.Message(); f.hasNoForm(frame.From, m) || !f.write(frame.From, m) {
			return nil, false
		}
	}
	return f.httpFrames, true
}

// hasNoForm reports whether a message is of another transport. The stateless revision
// cancels over HTTP by closing the stream.
func (f *httpForm) hasNoForm(from wire.Role, m wire.Message) bool {
	return f.rev.Facts().Stateless && (from == wire.Client && m.Kind != wire.Request ||
		m.Method() == "notifications/cancelled")
}

func (f *httpForm) write(from wire.Role, m wire.Message) bool {
	if from == wire.Client {
		f.post(m)
		return true
	}
	for _, part := range m.Elements() {
		if part.IsResponse() {
			return f.answer(m)
		}
	}
	f.send(m)
	return true
}

// begin begins the next exchange.
func (f *httpForm) begin(method string, m wire.Message, raw string) {
	f.last++
	h := http.Header{"Accept": {"application/json, text/event-stream"}}
	if f.session {
		h.Set("Mcp-Session-Id", "s")
	}
	if f.rev.Facts().Stateless || f.session && f.rev.Facts().VersionHeader {
		h.Set("Mcp-Protocol-Version", string(f.rev))
	}
	if f.rev.Facts().Stateless {
		h.Set("Mcp-Method", m.Method())
		for method, param := range map[string]string{
			"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
		} {
			if m.Method() == method {
				h.Set("Mcp-Name", m.Params().Get(param).String())
			}
		}
	}
	if method == "POST" {
		h.Set("Content-Type", "application/json")
	}
	f.add(wire.Client, raw, wire.HTTP{Exchange: f.last, Method: method, Header: h})
}

func (f *httpForm) post(m wire.Message) {
	f.begin("POST", m, string(m.Raw))
	x := &httpExchange{n: f.last, waiting: map[string]bool{}, tokens: map[string]bool{}}
	for _, part := range m.Elements() {
		if part.Kind == wire.Request {
			x.waiting[part.ID().Key()] = true
			x.tokens[part.Params().Get("_meta.progressToken").Raw] = true
		}
	}
	if len(x.waiting) == 0 {
		f.status(x.n, http.StatusAccepted)
		return
	}
	f.open = append(f.open, x)
}

// start begins the stream of an exchange, with an event to resume it from where servers
// should send one.
func (f *httpForm) start(x *httpExchange) {
	f.openStream(x.n)
	f.httpFrames[len(f.httpFrames)-1].HTTP.Header.Set("X-Accel-Buffering", "no")
	x.isStream = true
	if f.rev == spec.V2025_11_25 {
		f.event(x.n, "first-of-"+strings.Repeat("x", x.n), "")
	}
}

// statusOf returns the HTTP status with which a JSON body answers.
func statusOf(m wire.Message) int {
	switch code, _ := m.ErrorCode(); code {
	case spec.UnsupportedVersion, spec.MissingClientCapability:
		return http.StatusBadRequest
	case spec.MethodNotFound:
		return http.StatusNotFound
	}
	return http.StatusOK
}

// answer writes responses; it reports whether a request waits for them.
func (f *httpForm) answer(m wire.Message) bool {
	key := ""
	for _, part := range m.Elements() {
		if part.IsResponse() {
			key = part.ID().Key()
		}
	}
	for i, x := range f.open {
		if !x.waiting[key] {
			continue
		}
		for _, part := range m.Elements() {
			delete(x.waiting, part.ID().Key())
		}
		switch isWhole := len(x.waiting) == 0; {
		case !x.isStream && isWhole && (!f.streams || statusOf(m) != http.StatusOK):
			f.json(x.n, string(m.Raw))
			f.httpFrames[len(f.httpFrames)-1].HTTP.Status = statusOf(m)
		case !x.isStream:
			f.start(x)
			fallthrough
		default:
			f.event(x.n, "", string(m.Raw))
		}
		if len(x.waiting) == 0 {
			if x.isStream {
				f.endStream(x.n)
			}
			f.open = append(f.open[:i:i], f.open[i+1:]...)
		}
		f.session = f.session || m.Result().Get("protocolVersion").Exists()
		return true
	}
	return false
}

// send writes requests and notifications of the server: on the stream of the request that
// they are about, or on one that a GET opened.
func (f *httpForm) send(m wire.Message) {
	var about *httpExchange
	for _, x := range f.open {
		token := m.Params().Get("progressToken").Raw
		if token == "" || x.tokens[token] {
			about = x
		}
	}
	if about != nil {
		if !about.isStream {
			f.start(about)
		}
		f.event(about.n, "", string(m.Raw))
		return
	}
	if f.get == 0 {
		f.begin("GET", wire.Message{}, "")
		f.get = f.last
		f.openStream(f.get)
	}
	f.event(f.get, "", string(m.Raw))
}

// No judge fails a golden exchange over HTTP, whether JSON bodies or streams answer.
func TestJudgesAcceptGoldenExchangesOverHTTP(t *testing.T) {
	for _, rev := range spec.Since(spec.V2025_03_26).Revisions() {
		n := 0
		for _, e := range fixtures.Golden(rev) {
			for form, edit := range goldenForms {
				for _, frames := range edit(e) {
					edited := e
					edited.Frames = frames
					for how, streams := range map[string]bool{"JSON bodies": false, "streams": true} {
						if over, ok := writeOverHTTP(edited, streams); ok {
							n++
							requireNoViolation(t, rev, wire.TranscriptOf(over), true,
								e.Name+", "+form+", over HTTP with "+how)
						}
					}
				}
			}
		}
		if n < 100 {
			t.Errorf("only %d sessions at %s", n, rev)
		}
	}
}

// quietPoints returns the places between frames, after the opening, where nothing that
// later frames may refer to is under way: every request is answered, and none of them began
// a task or a request beside the protocol.
func quietPoints(e fixtures.Exchange) (out []int) {
	open := map[string]bool{}
	for i, f := range e.Frames {
		if wire.Member(f.Message().Result(), "task").Exists() || strings.Contains(string(f.Raw), `"elicitationId"`) {
			open["lasting"] = true
		}
		if i >= e.Opening && len(open) == 0 {
			out = append(out, i)
		}
		for _, m := range f.Message().Elements() {
			switch other := f.From.Peer(); {
			case m.Kind == wire.Request:
				open[string(f.From)+m.ID().Key()] = true
			case m.IsResponse():
				delete(open, string(other)+m.ID().Key())
			}
		}
	}
	return append(out, len(e.Frames))
}

// No judge fails a recording from which frames are missing, at the start or in the middle,
// where no request is split from its answer.
func TestJudgesAcceptPartsOfRecordings(t *testing.T) {
	for _, rev := range spec.Revisions() {
		for _, e := range fixtures.Golden(rev) {
			points := quietPoints(e)
			for i, from := range points {
				requireNoViolation(t, rev, wire.TranscriptOf(e.Frames[from:]), false, e.Name+", cut at the start")
				for _, to := range points[i+1:] {
					rest := slices.Concat(e.Frames[:from], e.Frames[to:])
					requireNoViolation(t, rev, wire.TranscriptOf(rest), false, e.Name+", cut in the middle")
				}
			}
		}
	}
}
