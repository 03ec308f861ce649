package fuzz

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Case is a finding as a file: a header of "# key: value" lines, and the frames
// of the session that confirmed it.
type Case struct {
	Revision  spec.Revision
	Oracle    string
	Signature string
	Outcome   string // of the symptom; a replay compares it
	Says      string
	Seed      uint64 // of the plan
	Version   string // of mcpcheck
	Transport transport.Kind
	Target    []string // over HTTP: arguments that name the target on a command line
	Headers   []string // names of the header fields that were given; their values may be secret
	Paced     bool
	Splits    []int // byte offsets at which the script is split into writes
	Timeout   string
	Frames    []wire.Frame
}

// The notes of the client's frames. A frame of the script has none.
const (
	noteOpening  = "opening"
	noteAnswer   = "answer" // to a request of the server
	noteLiveness = "closing question"
)

// newCase returns the case of a finding, from the smallest script and what was
// recorded when it was executed.
func newCase(f *Finding, s script, evidence execution, o Options) Case {
	c := Case{
		Revision: s.rev, Oracle: f.symptom.Oracle, Signature: f.Signature, Outcome: f.symptom.Outcome,
		Says: f.symptom.Says,
		Seed: f.Seed, Version: o.Version, Paced: s.paced, Timeout: o.Session.Timeout.String(),
		Transport: transport.Kind(f.Transport), Target: o.Target, Headers: o.Headers,
	}
	if !s.overHTTP {
		offset := 0
		for _, w := range s.writes[:len(s.writes)-1] {
			offset += len(w)
			c.Splits = append(c.Splits, offset)
		}
	}
	if len(evidence.frames) == 0 {
		c.Frames = s.frames()
		return c
	}
	c.Frames = evidence.annotatedFrames(s)
	if i := f.symptom.Frame; i >= 0 && i < len(c.Frames) && c.Frames[i].From == wire.Server {
		c.Frames[i].Marked = true
	}
	return c
}

// frames returns what the client sends. It serves a finding whose last execution
// did not open a session.
func (s script) frames() []wire.Frame {
	var out []wire.Frame
	for _, f := range s.opening {
		f.Note = noteOpening
		out = append(out, f)
	}
	for _, m := range s.messages() {
		out = append(out, wire.Frame{From: wire.Client, Raw: m.Raw})
	}
	return out
}

// annotatedFrames returns the recorded frames. Each frame of the client that is
// not of the script has a note that says what it is for.
func (x execution) annotatedFrames(s script) []wire.Frame {
	out := make([]wire.Frame, len(x.frames))
	opening, body := len(s.opening), len(s.messages()) // frames to come
	for i, f := range x.frames {
		f.At, f.Note, f.Marked = 0, "", false
		if f.From == wire.Client && !f.IsTransportOnly() {
			m := f.Message()
			isAnswer := answersServer(m, x.frames[:i])
			switch {
			case opening > 0 && !isAnswer:
				opening--
				f.Note = noteOpening
			case m.Method() == s.rev.Facts().BarrierMethod && strings.HasPrefix(m.ID().Raw, `"`+livenessIDPrefix):
				f.Note = noteLiveness
			case body > 0 && !isAnswer:
				body--
			default:
				f.Note = noteAnswer
			}
		}
		out[i] = f
	}
	return out
}

// answersServer reports whether a message answers a request of the server before
// it.
func answersServer(m wire.Message, before []wire.Frame) bool {
	if !m.IsResponse() {
		return false
	}
	for _, f := range before {
		request := f.Message()
		if f.From == wire.Server && request.Kind == wire.Request && request.ID().Equal(m.ID()) {
			return true
		}
	}
	return false
}

// Append appends the text of the case file.
func (c Case) Append(b []byte) []byte {
	header := func(key, v string) {
		if v != "" {
			b = fmt.Appendf(b, "# %s: %s\n", key, strings.Join(strings.Fields(v), " "))
		}
	}
	replay := "mcpcheck replay FILE -- CMD"
	if c.Transport != transport.Stdio {
		replay = "mcpcheck replay FILE, or FILE URL"
	}
	b = fmt.Appendf(b, "# A finding of mcpcheck fuzz. Replay: %s\n", replay)
	header("revision", string(c.Revision))
	header("oracle", c.Oracle)
	header("signature", c.Signature)
	header("outcome", c.Outcome)
	header("says", c.Says)
	header("seed", strconv.FormatUint(c.Seed, 10))
	header("mcpcheck", c.Version)
	header("timeout", c.Timeout)
	if c.Transport != transport.Stdio {
		header("transport", string(c.Transport))
	}
	if len(c.Target) > 0 {
		b = fmt.Appendf(b, "# target: %s\n", compactJSON(c.Target))
	}
	for _, name := range c.Headers {
		header("header", name)
	}
	if c.Paced {
		header("paced", "true")
	}
	for _, at := range c.Splits {
		header("split", strconv.Itoa(at))
	}
	for _, f := range c.Frames {
		b = append(f.AppendJSON(b), '\n')
	}
	return b
}

// compactJSON returns texts as JSON on one line.
func compactJSON(texts []string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(texts); err != nil {
		panic(fmt.Sprintf("fuzz: texts cannot be encoded: %v", err)) // strings always can
	}
	return bytes.TrimSpace(b.Bytes())
}

// write writes the case file into a directory. The signature determines its name,
// so that another run writes the same finding to the same file.
func (c Case) write(dir string, hide func(string) string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of cases: %w", err)
	}
	name := fmt.Sprintf("%s-%s-%08x.jsonl", strings.ReplaceAll(c.Oracle, ".", "-"), c.Revision,
		uint32(hashOf(c.Signature)))
	file := filepath.Join(dir, name)
	text := c.Append(nil)
	if hide != nil {
		text = []byte(hide(string(text)))
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return "", fmt.Errorf("write a case: %w", err)
	}
	return file, nil
}

// ParseCase parses a case file. The error names the line at fault.
func ParseCase(text []byte) (Case, error) {
	c := Case{Transport: transport.Stdio}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if err := c.readLine(bytes.TrimSpace(line)); err != nil {
			return c, fmt.Errorf("line %d: %w", n, err)
		}
	}
	s := c.script(c.Transport)
	switch {
	case c.Revision == "":
		return c, fmt.Errorf("no line names the revision (# revision: …)")
	case c.Oracle == "" || c.Outcome == "":
		return c, fmt.Errorf("no line names the oracle and its outcome (# oracle: …, # outcome: …)")
	case len(s.messages()) == 0 || len(s.writes) == 0:
		return c, fmt.Errorf("no frame of the client to replay")
	}
	return c, nil
}

func (c *Case) readLine(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	if line[0] == '#' {
		key, v, _ := strings.Cut(strings.TrimSpace(string(line[1:])), ": ")
		return c.readHeader(key, v)
	}
	f, err := wire.ParseFrame(line)
	if err != nil {
		return err
	}
	c.Frames = append(c.Frames, f)
	return nil
}

// readHeader reads one line of the header. It ignores unknown keys.
func (c *Case) readHeader(key, v string) (err error) {
	switch key {
	case "revision":
		c.Revision, err = spec.ParseRevision(v)
	case "oracle":
		c.Oracle = v
	case "signature":
		c.Signature = v
	case "outcome":
		c.Outcome = v
	case "says":
		c.Says = v
	case "mcpcheck":
		c.Version = v
	case "timeout":
		c.Timeout = v
	case "transport":
		switch c.Transport = transport.Kind(v); c.Transport {
		case transport.Stdio, transport.HTTP, transport.SSE:
		default:
			return fmt.Errorf("transport %q is none of stdio, http, sse", v)
		}
	case "target":
		if err = json.Unmarshal([]byte(v), &c.Target); err != nil {
			err = fmt.Errorf("target %s is not a JSON list of strings: %w", v, err)
		}
	case "header":
		c.Headers = append(c.Headers, v)
	case "seed":
		if c.Seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			err = fmt.Errorf("seed %q is not a number", v)
		}
	case "paced":
		c.Paced = v == "true"
	case "split":
		at, failed := strconv.Atoi(v)
		if failed != nil || at <= 0 {
			return fmt.Errorf("split %q is not a byte offset", v)
		}
		c.Splits = append(c.Splits, at)
	}
	return err
}
