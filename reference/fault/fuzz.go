package fault

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// fuzzFaults are faults that no single valid request shows: the fuzzer must find them.
func fuzzFaults() []Fault {
	faults := slices.Concat(fuzzExits(), fuzzSilence(), fuzzAnswers())
	for i := range faults {
		faults[i].Fuzz = true
	}
	return faults
}

// fuzzExits are faults by which the server exits.
func fuzzExits() []Fault {
	exits := func(name, does string, matches messageMatcher) Fault {
		return Fault{Name: name, Does: does, Apply: exitOn(matches, "planted: unexpected input")}
	}
	loneSurrogate := regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}(?:[^\\]|\\[^u]|$)`)
	return []Fault{
		exits("fuzz-exits-on-duplicate-member", "exits on an object with a member that stands twice",
			func(m wire.Message) bool { return len(m.DuplicateKeys) > 0 }),
		exits("fuzz-exits-on-lone-surrogate", "exits on a string with half of a surrogate pair",
			func(m wire.Message) bool { return m.SyntaxError == nil && loneSurrogate.Match(m.Raw) }),
		exits("fuzz-exits-on-unknown-response", "exits on a response to a request that it never sent",
			func(m wire.Message) bool { return m.IsResponse() && !strings.HasPrefix(m.ID().Raw, `"desk-`) }),
		exits("fuzz-exits-on-byte-order-mark", "exits on a byte order mark",
			func(m wire.Message) bool { return bytes.HasPrefix(m.Raw, []byte("\ufeff")) }),
		exits("fuzz-exits-on-cursor-type", "exits on a cursor that is not a string", func(m wire.Message) bool {
			c := m.Params().Get("cursor")
			return strings.HasSuffix(m.Method(), "/list") && c.Exists() && !strings.HasPrefix(c.Raw, `"`)
		}),
	}
}

// fuzzSilence are faults by which the server stops answering.
func fuzzSilence() []Fault {
	isRequest := func(matches messageMatcher) messageMatcher {
		return func(m wire.Message) bool { return m.Kind == wire.Request && matches(m) }
	}
	deepArrays, deepObjects := bytes.Repeat([]byte("["), 100), bytes.Repeat([]byte(`{"a":`), 100)
	return []Fault{
		{
			Name: "fuzz-mute-on-string-params", Does: "does not answer a request whose params are a string",
			Apply: ignoreLines(isRequest(func(m wire.Message) bool { return strings.HasPrefix(m.Params().Raw, `"`) })),
		},
		{
			Name: "fuzz-mute-on-proto-member", Does: "does not answer a request with a member __proto__",
			Apply: ignoreLines(isRequest(func(m wire.Message) bool {
				return bytes.Contains(m.Raw, []byte(`"__proto__":`))
			})),
		},
		{
			Name: "fuzz-hangs-on-deep-nesting",
			Does: "reads nothing after a message that is nested over a hundred deep",
			Apply: stopReadingAt(func(m wire.Message) bool {
				return bytes.Contains(m.Raw, deepArrays) || bytes.Contains(m.Raw, deepObjects)
			}),
		},
		{
			Name: "fuzz-hangs-on-blank-line", Does: "reads nothing after a blank line",
			Apply: stopReadingAt(func(m wire.Message) bool { return len(m.Raw) == 0 }),
		},
		{
			Name: "fuzz-joins-crlf", Does: "takes a line that ends in CR LF for the beginning of the next",
			Apply: joinCRLF,
		},
		{
			Name: "fuzz-read-is-message", Does: "takes the bytes of one read for whole messages",
			Apply: func(o *server.Options) {
				o.Input = func(_ context.Context, r io.Reader) io.Reader { return &splittingReader{r: r} }
			},
		},
	}
}

// joinCRLF keeps a line that ends in CR until the next one comes.
func joinCRLF(o *server.Options) {
	onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
		var kept []byte
		return func(line []byte) error {
			line = append(kept, line...)
			if kept = nil; bytes.HasSuffix(line, []byte("\r")) {
				kept = bytes.Clone(line)
				return nil
			}
			return next(line)
		}
	})(o)
}

// A splittingReader ends a line wherever a read ends.
type splittingReader struct {
	r     io.Reader
	split bool // the last read did not end in a newline
}

func (s *splittingReader) Read(p []byte) (int, error) {
	if s.split && len(p) > 0 {
		s.split = false
		p[0] = '\n'
		return 1, nil
	}
	n, err := s.r.Read(p)
	s.split = n > 0 && p[n-1] != '\n'
	return n, err
}

// fuzzAnswers are faults by which the server answers wrongly.
func fuzzAnswers() []Fault {
	return []Fault{
		{
			Name: "fuzz-fraction-id", Does: "answers a request under its id without the fraction",
			Apply: rewriteLines(func(m wire.Message) []byte {
				whole, fraction, ok := strings.Cut(m.ID().Raw, ".")
				isFraction := ok && strings.Trim(fraction, "0123456789") == "" && strings.Trim(fraction, "0") != ""
				if m.Kind != wire.Request || !isFraction {
					return m.Raw
				}
				return replaceBytes(m, m.ID().Raw, whole)
			}),
		},
		{
			Name: "fuzz-answers-unknown-notification", Does: "answers an unknown notification under the id 0",
			Apply: afterLine(isMessage(wire.Notification, ""), func(m wire.Message, out server.FrameSink) {
				if m.FormatError() == nil && !strings.HasPrefix(m.Method(), "notifications/") {
					out(frameOf(`{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}`))
				}
			}),
		},
		{
			Name:  "fuzz-answers-twice-on-unknown-meta",
			Does:  "answers a request twice whose _meta has an unknown member",
			Apply: sendTwice(isResponseWhen(hasUnknownMeta)),
		},
		{
			Name:  "fuzz-keeps-previous-id",
			Does:  "answers a request whose id has escapes under the id of the request before",
			Apply: keepPreviousID,
		},
	}
}

// hasUnknownMeta matches requests whose _meta has a member that the server does not
// know.
func hasUnknownMeta(r *server.Request) bool {
	for name := range metaOf(r) {
		if name != "progressToken" && !strings.HasPrefix(name, "io.modelcontextprotocol/") {
			return true
		}
	}
	return false
}

// keepPreviousID answers under the id of the request before where an id has escapes.
func keepPreviousID(o *server.Options) {
	onFrames(func(next server.FrameSink) server.FrameSink {
		before := "1"
		return func(f server.Frame) {
			if !isResponse(f) || f.Request == nil || !f.Request.ID.IsPresent() {
				next(f)
				return
			}
			own := f.Request.ID.Raw
			if strings.Contains(own, `\`) {
				f.Raw = withID(f.Raw, wire.ID{Raw: before})
			}
			before = own
			next(f)
		}
	})(o)
}
