package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The page shows at most this much of a frame and of a transcript. The whole
// page is bounded by sharing framesTotal among the transcripts that it holds.
const (
	frameBytes     = 6 << 10
	framesMin      = 2 << 10
	framesMax      = 24 << 10
	framesTotal    = 1 << 20
	framesAtEnds   = 4   // of a long transcript, the first and last frames shown
	framesAround   = 10  // and those before and after a marked one
	frameShortLine = 120 // a message up to this long stays on one line
	frameTeaser    = 200
)

type (
	framesView struct {
		Open    bool
		Summary string
		Items   []frameView
	}
	frameView struct {
		Left     string // frames left out before this one, as a sentence
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
	n := 1
	for _, o := range run.Outcomes {
		if len(o.Frames) > 0 {
			n++
		}
	}
	n += len(run.Findings)
	return frameBudget(min(max(framesTotal/n, framesMin), framesMax))
}

func (budget frameBudget) view(frames []wire.Frame, open bool) framesView {
	if len(frames) == 0 {
		return framesView{}
	}
	v := framesView{Open: open, Summary: plural(len(frames), "frame", "frames")}
	marked := 0
	near := make([]bool, len(frames))
	for i, f := range frames {
		if f.Mark {
			marked++
		}
		if len(frames) <= 2*framesAtEnds+framesAround || i < framesAtEnds || i >= len(frames)-framesAtEnds {
			near[i] = true
		}
		if f.Mark {
			for j := max(0, i-framesAround); j < min(len(frames), i+framesAround+1); j++ {
				near[j] = true
			}
		}
	}
	if marked > 0 {
		v.Summary += fmt.Sprintf(", %s marked", group(marked))
	}
	left := 0
	for i, f := range frames {
		if !near[i] {
			left++
			continue
		}
		item := show(f, budget)
		if left > 0 {
			item.Left = plural(left, "frame", "frames") + " left out here"
			left = 0
		}
		budget = max(0, budget-frameBudget(len(item.Body)+len(item.HTTP)))
		v.Items = append(v.Items, item)
	}
	return v
}

func show(f wire.Frame, budget frameBudget) frameView {
	v := frameView{
		From: visible(string(f.From), ""), To: visible(string(f.From.Peer()), ""), At: fmt.Sprintf("%.1f ms", float64(f.At.Microseconds())/1000),
		Mark: f.Mark, Note: oneLine(f.Note, textLine),
	}
	if f.HTTP != nil {
		v.Exchange = fmt.Sprintf("exchange %d", f.HTTP.Exchange)
		v.HTTP, _ = cut(httpText(f.HTTP), frameBytes)
	}
	if f.Wordless() {
		return v
	}
	v.Size = plural(len(f.Raw), "byte", "bytes")
	limit := frameBytes
	if !f.Mark {
		limit = min(limit, max(int(budget), frameTeaser))
	}
	body, ok := pretty(f.Raw, limit)
	if !ok {
		v.Kind = "not JSON"
	}
	head, rest := cut(body, limit)
	v.Body = head
	if rest != "" || !ok && len(f.Raw) > limit {
		v.Clipped = fmt.Sprintf("Cut here; the frame has %s, all of them in the JSON report.", v.Size)
	}
	return v
}

// pretty returns a message indented, and whether it is JSON; what is not is
// spelt out, as much as is needed for limit.
func pretty(raw []byte, limit int) (body string, ok bool) {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return visible(string(raw[:min(len(raw), limit)]), ""), false
	}
	if len(raw) <= frameShortLine {
		return visible(string(raw), ""), true
	}
	if len(raw) > 64*limit {
		// Indenting megabytes to show some kilobytes of them is in vain.
		return visible(string(raw[:limit]), "") + "…", true
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return visible(string(raw[:min(len(raw), limit)]), ""), false
	}
	return visible(b.String(), "\n"), true
}
