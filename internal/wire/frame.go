package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// A Frame is one message as its sender wrote it to the transport: a line of
// stdio without its newline, the body of a POST, the data of an SSE event. Over
// HTTP a frame may also belong to the transport alone and carry no message.
type Frame struct {
	From   Role
	Raw    []byte
	At     time.Duration // since the start of the session
	Marked bool          // a report shows this frame as the offending one
	Note   string        // a remark for readers of the transcript, e.g. "line of 104857600 bytes, cut"
	// Truncated reports that the line was longer than the limit, so that Raw holds
	// only its beginning; Unterminated, that the stream ended before the newline.
	Truncated, Unterminated bool
	HTTP                    *HTTP // the HTTP part of the frame; nil on stdio
}

// Message parses the frame.
func (f Frame) Message() Message { return Parse(f.Raw) }

// maxEmbeddedDepth bounds the nesting of a message that is written as JSON into
// another document. Common readers fail at 128 (serde_json), 256 (jq 1.6), about
// 1,000 (Python) or 10,000 (encoding/json) levels in all, and one deeply nested
// frame must not make a whole report unreadable.
const maxEmbeddedDepth = 100

// AppendJSON appends the frame as one JSONL line without its newline. The bytes
// of the message stand verbatim under "raw" if they are one line of JSON that is
// not too deeply nested, otherwise in base64 under "bytes".
func (f Frame) AppendJSON(b []byte) []byte {
	b = append(b, `{"from":"`...)
	b = append(b, f.From...)
	b = append(b, '"')
	if f.At > 0 {
		b = fmt.Appendf(b, `,"at":%.3f`, float64(f.At.Microseconds())/1000)
	}
	if f.Marked {
		b = append(b, `,"mark":true`...)
	}
	if f.Note != "" {
		b = append(b, `,"note":`...)
		b = gjson.AppendJSONString(b, f.Note)
	}
	if f.HTTP != nil {
		b = f.HTTP.appendJSON(append(b, `,"http":`...))
	}
	if f.IsTransportOnly() {
		return append(b, '}')
	}
	if isEmbeddable(f.Raw) {
		b = append(b, `,"raw":`...)
		b = append(b, f.Raw...)
	} else {
		b = append(b, `,"bytes":"`...)
		b = base64.StdEncoding.AppendEncode(b, f.Raw)
		b = append(b, '"')
	}
	return append(b, '}')
}

// isEmbeddable reports whether a message can be written as JSON into a line of
// another document without a change to its bytes.
func isEmbeddable(raw []byte) bool {
	return utf8.Valid(raw) && !bytes.ContainsAny(raw, "\r\n") && !bytes.HasPrefix(raw, []byte("\ufeff")) &&
		nestingDepth(raw) <= maxEmbeddedDepth && gjson.ValidBytes(raw) && len(bytes.TrimSpace(raw)) == len(raw)
}

// MarshalJSON writes the frame as AppendJSON does. encoding/json compacts the
// result, so files that must keep the bytes are written with AppendJSON.
func (f Frame) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// ParseFrame reads one line written by AppendJSON.
func ParseFrame(line []byte) (Frame, error) {
	if !json.Valid(line) {
		return Frame{}, fmt.Errorf("frame line is not valid JSON: %s", Clip(string(line), 80))
	}
	v := gjson.ParseBytes(line)
	f := Frame{
		From:   Role(v.Get("from").String()),
		Marked: v.Get("mark").Bool(),
		Note:   v.Get("note").String(),
		At:     time.Duration(math.Round(v.Get("at").Float()*1000)) * time.Microsecond,
	}
	if f.From != Client && f.From != Server {
		return Frame{}, fmt.Errorf(`frame line has "from" %s, not "client" or "server"`, v.Get("from").Raw)
	}
	if h := v.Get("http"); h.Exists() {
		f.HTTP = &HTTP{}
		if err := json.Unmarshal([]byte(h.Raw), f.HTTP); err != nil {
			return Frame{}, fmt.Errorf(`frame line has bad "http": %w`, err)
		}
	}
	raw, enc := v.Get("raw"), v.Get("bytes")
	switch {
	case raw.Exists() && enc.Exists():
		return Frame{}, errors.New(`frame line has both "raw" and "bytes"`)
	case raw.Exists():
		f.Raw = []byte(raw.Raw)
	case enc.Type == gjson.String:
		b, err := base64.StdEncoding.DecodeString(enc.String())
		if err != nil {
			return Frame{}, fmt.Errorf(`frame line has bad base64 in "bytes": %w`, err)
		}
		f.Raw = b
	case f.HTTP != nil:
	default:
		return Frame{}, errors.New(`frame line has neither "raw" nor "bytes"`)
	}
	return f, nil
}

// ParseFrames reads JSONL with one frame per line. It skips empty lines, and
// returns the text of lines that start with # as prose.
func ParseFrames(text []byte) (frames []Frame, prose []string, err error) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case line[0] == '#':
			prose = append(prose, strings.TrimSpace(string(line[1:])))
		default:
			f, err := ParseFrame(line)
			if err != nil {
				return nil, nil, fmt.Errorf("line %d: %w", n, err)
			}
			frames = append(frames, f)
		}
	}
	return frames, prose, nil
}
