package fuzz

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A Case is a finding as a file: a header of prose and the frames of the run
// that confirmed it.
type Case struct {
	Rev       spec.Revision
	Oracle    string
	Signature string
	Outcome   string // of the symptom, which a replay compares
	Says      string
	Seed      uint64
	Version   string // of mcpcheck
	Transport transport.Kind
	Target    []string // words that name the target on a command line, where it serves over HTTP
	Headers   []string // names of the header fields that were given; their values may be secret
	Paced     bool
	Splits    []int // where the bytes between opening and closing question are split into writes
	Timeout   string
	Frames    []wire.Frame
}

// The notes that tell what frames of the client are for.
const (
	noteOpening = "opening"
	noteAnswer  = "answer" // to a request of the server
	noteLiveness = "closing question"
)

// newCase makes the case of a finding from the script that showed it and what
// was said.
func newCase(f *Found, s script, played execution, o Options) Case {
	c := Case{
		Rev: s.rev, Oracle: f.symptom.Oracle, Signature: f.Signature, Outcome: f.symptom.Outcome, Says: f.symptom.Says,
		Seed: f.Seed, Version: o.Version, Paced: s.paced, Timeout: o.Session.Timeout.String(),
		Transport: transport.Kind(f.Transport), Target: o.Target, Headers: o.Headers,
	}
	at := 0
	for _, w := range s.writes[:len(s.writes)-1] {
		if s.overHTTP {
			break
		}
		at += len(w)
		c.Splits = append(c.Splits, at)
	}
	if len(played.frames) == 0 { // it did not even open again
		for _, frame := range s.opening {
			frame.Note = noteOpening
			c.Frames = append(c.Frames, frame)
		}
		for _, m := range s.messages() {
			c.Frames = append(c.Frames, wire.Frame{From: wire.Client, Raw: m.Raw})
		}
		return c
	}
	opening, body := len(s.opening), len(s.messages())
	for i, frame := range played.frames {
		frame.At, frame.Note = 0, ""
		frame.Mark = i == f.symptom.Frame && frame.From == wire.Server
		if frame.From == wire.Client && !frame.Wordless() {
			m := frame.Message()
			switch {
			case opening > 0 && !answersServer(m, played.frames[:i]):
				opening--
				frame.Note = noteOpening
			case m.Method() == s.rev.Facts().Barrier && strings.HasPrefix(m.ID().Raw, `"alive-`):
				frame.Note = noteLiveness
			case body > 0 && !answersServer(m, played.frames[:i]):
				body--
			default:
				frame.Note = noteAnswer
			}
		}
		c.Frames = append(c.Frames, frame)
	}
	return c
}

// ours tells whether a frame answers a request of the server before it.
func answersServer(m wire.Message, before []wire.Frame) bool {
	if !m.IsResponse() {
		return false
	}
	for _, f := range before {
		if ask := f.Message(); f.From == wire.Server && ask.Kind == wire.Request && ask.ID().Equal(m.ID()) {
			return true
		}
	}
	return false
}

// Append writes the case as text.
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
	header("revision", string(c.Rev))
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

// write writes the case into a directory, under a name that its signature
// gives it, so that the same finding has the same file in the next run.
func (c Case) write(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of cases: %w", err)
	}
	name := fmt.Sprintf("%s-%s-%08x.jsonl", strings.ReplaceAll(c.Oracle, ".", "-"), c.Rev, uint32(hashOf(c.Signature)))
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, c.Append(nil), 0o644); err != nil {
		return "", fmt.Errorf("write a case: %w", err)
	}
	return file, nil
}

// ParseCase reads a case file. The error names the line at fault.
func ParseCase(text []byte) (Case, error) {
	c := Case{Transport: transport.Stdio}
	n := 0
	for raw := range bytes.Lines(text) {
		n++
		raw = bytes.TrimSpace(raw)
		var err error
		switch {
		case len(raw) == 0:
		case raw[0] == '#':
			key, v, _ := strings.Cut(strings.TrimSpace(string(raw[1:])), ": ")
			err = c.readHeader(key, v)
		default:
			var f wire.Frame
			if f, err = wire.ParseFrame(raw); err == nil {
				c.Frames = append(c.Frames, f)
			}
		}
		if err != nil {
			return c, fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch {
	case c.Rev == "":
		return c, fmt.Errorf("no line names the revision (# revision: …)")
	case c.Oracle == "" || c.Outcome == "":
		return c, fmt.Errorf("no line names the oracle and its outcome (# oracle: …, # outcome: …)")
	case len(c.script(c.Transport).messages()) == 0 || len(c.script(c.Transport).writes) == 0:
		return c, fmt.Errorf("no frame of the client to replay")
	}
	return c, nil
}

func (c *Case) readHeader(key, v string) (err error) {
	switch key {
	case "revision":
		c.Rev, err = spec.ParseRevision(v)
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
			err = fmt.Errorf("target %s is no list of words: %w", v, err)
		}
	case "header":
		c.Headers = append(c.Headers, v)
	case "seed":
		if c.Seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			err = fmt.Errorf("seed %q is no number", v)
		}
	case "paced":
		c.Paced = v == "true"
	case "split":
		at, bad := strconv.Atoi(v)
		if bad != nil || at <= 0 {
			return fmt.Errorf("split %q is no place", v)
		}
		c.Splits = append(c.Splits, at)
	}
	return err
}

// encoded writes words as JSON on one line.
func compactJSON(words []string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(words); err != nil {
		panic(fmt.Sprintf("fuzz: words cannot be encoded: %v", err)) // strings can
	}
	return bytes.TrimSpace(b.Bytes())
}

// Script returns what a replay sends over a transport, which need not be that of
// the case.
func (c Case) script(over transport.Kind) script {
	s := script{rev: c.Rev, paced: c.Paced, overHTTP: over != transport.Stdio}
	asked := map[string]string{} // requests of the server so far: id to method
	var all []byte
	for _, f := range c.Frames {
		m := f.Message()
		switch {
		case f.From == wire.Server:
			if m.Kind == wire.Request {
				asked[m.ID().Key()] = m.Method()
			}
		case f.Note == noteOpening:
			s.opening = append(s.opening, wire.Frame{From: wire.Client, Raw: f.Raw})
		case f.Note == noteAnswer:
			if method := asked[m.ID().Key()]; method != "" {
				s.answers = append(s.answers, answer{method, string(f.Raw)})
			}
		case f.Note == noteLiveness, f.Wordless():
		case s.overHTTP:
			s.writes = append(s.writes, f.Raw)
		case c.Transport != transport.Stdio && c.Paced:
			s.writes = append(s.writes, append(bytes.Clone(f.Raw), '\n'))
		default:
			all = append(append(all, f.Raw...), '\n')
		}
	}
	if s.overHTTP {
		return s
	}
	from := 0
	for _, at := range c.Splits {
		if at > from && at < len(all) {
			s.writes = append(s.writes, all[from:at])
			from = at
		}
	}
	if from < len(all) {
		s.writes = append(s.writes, all[from:])
	}
	return s
}

// Replayed is what came of a replay.
type Replayed struct {
	Reproduces bool     // the oracle of the case objects, or the peer does not live
	Same       bool     // with the same outcome
	Symptom    *Symptom // nil if nothing objects
	Frames     []wire.Frame
}

// replays is how often a case is played before it counts as fixed.
const replayRuns = 3

// Replay plays a case on fresh instances of a target, until it reproduces or has
// not done so three times. Liveness is asked, and the judge of the case. again
// starts a server over HTTP again, or is nil. The error tells that the target could not be spoken to.
func Replay(ctx context.Context, target transport.Target, c Case, o session.Options, again func(context.Context) error) (r Replayed, err error) {
	p := newExecutor(target, o, o.Timeout)
	p.server = newSharedServer(target, o, again)
	defer p.close()
	b := newOracles(c.Rev, transport.KindOf(target))
	b.judges = slices.DeleteFunc(b.judges, func(j check.Check) bool { return j.ID != c.Oracle })
	for range replayRuns {
		s := c.script(transport.KindOf(target))
		l, err := p.open(ctx, s)
		if err != nil {
			return r, err
		}
		played := l.execute(ctx, s)
		l.end(played.state != session.Alive)
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		r = Replayed{Frames: played.frames, Symptom: b.judge(played)}
		r.Same = r.Symptom.matches(&Symptom{Oracle: c.Oracle, Outcome: c.Outcome})
		if r.Reproduces = r.Symptom != nil; r.Reproduces {
			return r, nil
		}
	}
	return r, nil
}
