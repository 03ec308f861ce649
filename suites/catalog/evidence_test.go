package catalog

import (
	"flag"
	"fmt"
	"net/http"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

var update = flag.Bool("update", false, "rewrite the lists")

const evidenceFile = "testdata/evidence.tsv"

// overHTTP returns frames as they may be sent over HTTP: what the client sends in POSTs,
// the answer to a request with what the server sends before it on the stream of the POST,
// and what it sends at another time on the stream of a GET.
func overHTTP(frames []wire.Frame) []wire.Frame {
	const listening = 1
	var w httpFrames
	w.request(listening, "GET", "")
	w.openStream(listening)
	exchange, request, events := listening, "", 0
	for i, f := range frames {
		m := f.Message()
		switch {
		case f.From == wire.Client:
			exchange, request = i+2, m.ID().Key()
			w.post(exchange, string(f.Raw))
			if m.Kind != wire.Request && m.Kind != wire.Batch {
				w.status(exchange, http.StatusAccepted)
				exchange = listening
				continue
			}
			w.openStream(exchange)
		default:
			events++
			w.event(exchange, fmt.Sprint(events), string(f.Raw))
			if m.IsResponse() && m.ID().Key() == request && exchange != listening {
				w.endStream(exchange)
				exchange = listening
			}
		}
	}
	return w
}

// A judge passes in the golden exchanges that give its rule a subject, and in no other.
// The list has the number of these for each judge, as they are and over HTTP. A number that
// grows without a new exchange shows a judge that passes without a subject, and one that
// falls a judge that lost its subject.
//
// go test ./suites/catalog -run Evidence -update rewrites the list: read the difference.
func TestJudgesHaveEvidence(t *testing.T) {
	var got []string
	passes := map[string][2]int{}
	for _, rev := range spec.Revisions() {
		for _, e := range fixtures.Golden(rev) {
			for i, frames := range [][]wire.Frame{e.Frames, overHTTP(e.Frames)} {
				v := view.New(rev, wire.TranscriptOf(frames))
				for _, c := range allJudges() {
					if c.In.Has(rev) && check.JudgeView(c, v).State == check.Kept {
						n := passes[c.ID]
						n[i]++
						passes[c.ID] = n
					}
				}
			}
		}
	}
	for _, c := range allJudges() {
		got = append(got, fmt.Sprintf("%s\t%d\t%d", c.ID, passes[c.ID][0], passes[c.ID][1]))
	}
	requireLines(t, evidenceFile, got)
}
