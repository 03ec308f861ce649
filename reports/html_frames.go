package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The limits on what the page shows of frames, in bytes. Transcripts share
// framesTotal, so that the whole page is bounded.
const (
	frameBytes   = 6 << 10
	framesMin    = 2 << 10
	framesMax    = 24 << 10
	framesTotal  = 1 << 20
	frameMin     = 200 // of a frame after the budget is used up
	frameOneLine = 120 // a message up to this size stays on one line
	indentFactor = 64  // a message of more than so many times its limit is not indented
)

// The frames that the page shows of a long transcript.
const (
	framesAtEnds = 4  // at the start and at the end
	framesAround = 10 // before and after a marked one
)

type (
	framesView struct {
		Open    bool
		Summary string
		Items   []frameView
	}
	frameView struct {
		Omitted  string // frames left out before this one, as a sentence
		From     string
		To       string
		At       string
		Size     string // "" where it carries no message
		HTTP     string // what it was on HTTP, in lines
		Exchange string // of HTTP
		Mark     bool
		Kind     string // "not JSON" if it is not
		Note     string
		Body     string
		Clipped  string
	}
)

// A frameBudget is how many bytes of bodies one transcript may show.
type frameBudget int

func newFrameBudget(run *Run) frameBudget {
	n := 1 + len(run.Findings)
	for _, o := range run.Outcomes {
		if len(o.Frames) > 0 {
			n++
		}
	}
	return frameBudget(min(max(framesTotal/n, framesMin), framesMax))
}

func (budget frameBudget) view(frames []wire.Frame, open bool) framesView {
	if len(frames) == 0 {
		return framesView{}
	}
	v := framesView{Open: open, Summary: plural(len(frames), "frame", "frames")}
	shown, marked := selectFrames(frames)
	if marked > 0 {
		v.Summary += fmt.Sprintf(", %s marked", formatInt(marked))
	}
	omitted := 0
	for i, f := range frames {
		if !shown[i] {
			omitted++
			continue
		}
		item := viewFrame(f, budget)
		if omitted > 0 {
			item.Omitted = plural(omitted, "frame", "frames") + " omitted here"
			omitted = 0
		}
		budget = max(0, budget-frameBudget(len(item.Body)+len(item.HTTP)))
		v.Items = append(v.Items, item)
	}
	return v
}

// selectFrames reports which frames the page shows: those at both ends and those
// around a marked one. It also returns how many are marked.
func selectFrames(frames []wire.Frame) (shown []bool, marked int) {
	shown = make([]bool, len(frames))
	for i, f := range frames {
		if len(frames) <= 2*framesAtEnds+framesAround || i < framesAtEnds || i >= len(frames)-framesAtEnds {
			shown[i] = true
		}
		if f.Marked {
			marked++
			for j := max(0, i-framesAround); j < min(len(frames), i+framesAround+1); j++ {
				shown[j] = true
			}
		}
	}
	return shown, marked
}

func viewFrame(f wire.Frame, budget frameBudget) frameView {
	v := frameView{
		From: escape(string(f.From), ""), To: escape(string(f.From.Peer()), ""),
		At:   fmt.Sprintf("%.1f ms", float64(f.At.Microseconds())/1000),
		Mark: f.Marked, Note: oneLine(f.Note, detailLimit),
	}
	if f.HTTP != nil {
		v.Exchange = fmt.Sprintf("exchange %d", f.HTTP.Exchange)
		v.HTTP, _ = cut(httpText(f.HTTP), frameBytes)
	}
	if f.IsTransportOnly() {
		return v
	}
	v.Size = plural(len(f.Raw), "byte", "bytes")
	limit := frameBytes
	if !f.Marked {
		limit = min(limit, max(int(budget), frameMin))
	}
	body, isJSON := indent(f.Raw, limit)
	if !isJSON {
		v.Kind = "not JSON"
	}
	head, remark := cut(body, limit)
	v.Body = head
	if remark != "" || !isJSON && len(f.Raw) > limit {
		v.Clipped = fmt.Sprintf("Cut here. The JSON report has the whole frame of %s.", v.Size)
	}
	return v
}

// indent returns a message indented, and whether it is JSON. Of bytes that are
// not JSON it returns the first limit bytes, escaped.
func indent(raw []byte, limit int) (body string, isJSON bool) {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return escape(string(raw[:min(len(raw), limit)]), ""), false
	}
	if len(raw) <= frameOneLine {
		return escape(string(raw), ""), true
	}
	if len(raw) > indentFactor*limit {
		// The page shows some kilobytes: to indent megabytes for them costs too much.
		return escape(string(raw[:limit]), "") + "…", true
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return escape(string(raw[:min(len(raw), limit)]), ""), false
	}
	return escape(b.String(), "\n"), true
}
