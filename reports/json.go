package reports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Format is the version of the JSON report that WriteJSON writes.
const Format = 1

// encoding/json compacts and escapes what a Marshaler returns, so that frames
// cannot pass through it. The heads below are marshaled without frames, and the
// frames are appended byte for byte. A field of the outer struct hides the
// embedded field of the same name; it is nil and thus omitted.
type (
	runHead struct {
		Run
		Outcomes *struct{} `json:"outcomes,omitempty"`
		Findings *struct{} `json:"findings,omitempty"`
		Causes   []Cause   `json:"causes,omitempty"`
	}
	outcomeHead struct {
		Outcome
		Frames *struct{} `json:"frames,omitempty"`
	}
	findingHead struct {
		Finding
		Frames *struct{} `json:"frames,omitempty"`
	}
)

// WriteJSON writes the run as one JSON object of format 1, with one outcome a
// line. Frames are written byte for byte as wire.Frame.AppendJSON encodes them.
// The totals and the causes are computed from the outcomes; run.Totals is ignored.
func WriteJSON(w io.Writer, run *Run) error {
	head := *run
	head.Format = Format
	head.Count()
	if head.Revisions == nil {
		head.Revisions = []RevisionRun{}
	}
	b, err := marshalObject(runHead{Run: head, Causes: run.Causes()})
	if err != nil {
		return fmt.Errorf("write JSON report: %w", err)
	}
	out := bufio.NewWriter(w)
	out.Write(b[:len(b)-1])
	out.WriteString(",\n\"outcomes\":[")
	for i, o := range run.Outcomes {
		if err := writeItem(out, i, outcomeHead{Outcome: o}, o.Frames); err != nil {
			return fmt.Errorf("write JSON report: outcome %s: %w", o.ID, err)
		}
	}
	out.WriteByte(']')
	if len(run.Findings) > 0 {
		out.WriteString(",\n\"findings\":[")
		for i, f := range run.Findings {
			if err := writeItem(out, i, findingHead{Finding: f}, f.Frames); err != nil {
				return fmt.Errorf("write JSON report: finding %s: %w", f.Signature, err)
			}
		}
		out.WriteByte(']')
	}
	out.WriteString("}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write JSON report: %w", err)
	}
	return nil
}

func writeItem(out *bufio.Writer, i int, head any, frames []wire.Frame) error {
	b, err := marshalObject(head)
	if err != nil {
		return err
	}
	if i > 0 {
		out.WriteByte(',')
	}
	out.WriteByte('\n')
	out.Write(b[:len(b)-1])
	if len(frames) > 0 {
		out.WriteString(`,"frames":[`)
		var line []byte
		for j, f := range frames {
			if j > 0 {
				out.WriteByte(',')
			}
			line = f.AppendJSON(line[:0])
			out.Write(line)
		}
		out.WriteByte(']')
	}
	return out.WriteByte('}')
}

// marshalObject marshals v without escaping <, > and &, and without a newline.
func marshalObject(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// ReadJSON reads a report that WriteJSON wrote and keeps the bytes of its
// frames. It ignores unknown members, since later versions add fields to the
// format; another format is an error.
func ReadJSON(r io.Reader) (*Run, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read JSON report: %w", err)
	}
	var in struct {
		Run
		Outcomes []struct {
			Outcome
			Frames []json.RawMessage `json:"frames"`
		} `json:"outcomes"`
		Findings []struct {
			Finding
			Frames []json.RawMessage `json:"frames"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("read JSON report: %w", err)
	}
	if in.Format != Format {
		return nil, fmt.Errorf("read JSON report: the format is %d; this program reads format %d", in.Format, Format)
	}
	run := in.Run
	for _, o := range in.Outcomes {
		if o.Outcome.Frames, err = readFrames(o.Frames); err != nil {
			return nil, fmt.Errorf("read JSON report: outcome %s: %w", o.ID, err)
		}
		run.Outcomes = append(run.Outcomes, o.Outcome)
	}
	for _, f := range in.Findings {
		if f.Finding.Frames, err = readFrames(f.Frames); err != nil {
			return nil, fmt.Errorf("read JSON report: finding %s: %w", f.Signature, err)
		}
		run.Findings = append(run.Findings, f.Finding)
	}
	return &run, nil
}

func readFrames(lines []json.RawMessage) ([]wire.Frame, error) {
	var frames []wire.Frame
	for i, line := range lines {
		f, err := wire.ParseFrame(line)
		if err != nil {
			return nil, fmt.Errorf("frame %d: %w", i+1, err)
		}
		frames = append(frames, f)
	}
	return frames, nil
}
