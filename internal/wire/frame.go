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

// A Frame is one message as its sender put it on the transport: a line of
// stdio without its newline, the body of a POST, the data of an SSE event.
type Frame struct {
	From Role
	Raw  []byte
	At   time.Duration // since the session was started
	Mark bool          // the offending frame, in a report
	Note string        // what a reader must know, e.g. "line of 104857600 bytes, cut"
	// Cut: the line was longer than the limit and Raw holds its beginning.
	// Unterminated: the stream ended before the newline came.
	Cut, Unterminated bool
	HTTP              *HTTP // what it was on HTTP; nil on stdio
}

// Message parses the frame.
func (f Frame) Message() Message { return Parse(f.Raw) }

// maxEmbedded bounds how deep a message may nest to stand as JSON inside of
// another document: common readers give up at 128 (serde_json), 256 (jq 1.6),
// about 1,000 (Python) or 10,000 (encoding/json) levels in all, and one deep
// frame must not make a whole report unreadable.
const maxEmbedded = 100

// AppendJSON appends the frame as one JSONL line without newline: the bytes of
// the message verbatim under "raw" if they are JSON on one line and not nested
// extremely deep, else in base64 under "bytes".
func (f Frame) AppendJSON(b []byte) []byte {
	b = append(b, `{"from":"`...)
	b = append(b, f.From...)
	b = append(b, '"')
	if f.At > 0 {
		b = fmt.Appendf(b, `,"at":%.3f`, float64(f.At.Microseconds())/1000)
	}
	if f.Mark {
		b = append(b, `,"mark":true`...)
	}
	if f.Note != "" {
		b = append(b, `,"note":`...)
		b = gjson.AppendJSONString(b, f.Note)
	}
	if f.HTTP != nil {
		b = f.HTTP.appendJSON(append(b, `,"http":`...))
	}
	if f.Wordless() {
		return append(b, '}')
	}
	if utf8.Valid(f.Raw) && !bytes.ContainsAny(f.Raw, "\r\n") && !bytes.HasPrefix(f.Raw, []byte("\ufeff")) && depth(f.Raw) <= maxEmbedded && gjson.ValidBytes(f.Raw) && len(bytes.TrimSpace(f.Raw)) == len(f.Raw) {
		b = append(b, `,"raw":`...)
		b = append(b, f.Raw...)
	} else {
		b = append(b, `,"bytes":"`...)
		b = base64.StdEncoding.AppendEncode(b, f.Raw)
		b = append(b, '"')
	}
	return append(b, '}')
}

// MarshalJSON writes the frame as AppendJSON does. encoding/json compacts what
// it is given, so files that must keep bytes are written by AppendJSON itself.
func (f Frame) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// ParseFrame reads one line written by AppendJSON.
func ParseFrame(line []byte) (Frame, error) {
	if !json.Valid(line) {
		return Frame{}, fmt.Errorf("frame line is not valid JSON: %s", Clip(string(line), 80))
	}
	v := gjson.ParseBytes(line)
	f := Frame{From: Role(v.Get("from").String()), Mark: v.Get("mark").Bool(), Note: v.Get("note").String(), At: time.Duration(math.Round(v.Get("at").Float()*1000)) * time.Microsecond}
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

// ParseFrames reads JSONL: a frame a line; lines that are empty or start with
// # are prose and returned apart, without the sign.
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
