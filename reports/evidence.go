package reports

import (
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// evidence returns the message of the client and that of the server which an outcome is
// about: a request and its answer, or a message and the last one before it from the other
// side. Either is "" if there is none, and both are where no frame is marked.
func evidence(frames []wire.Frame) (client, server string) {
	at := -1
	for i, f := range frames {
		if f.Marked && !f.IsTransportOnly() {
			at = i
		}
	}
	if at < 0 {
		return "", ""
	}
	other := ""
	if i := counterpart(frames, at); i >= 0 {
		other = string(frames[i].Raw)
	}
	if frames[at].From == wire.Client {
		return string(frames[at].Raw), other
	}
	return other, string(frames[at].Raw)
}

// counterpart returns the index of the frame that belongs to another: the answer to a
// request, the request of an answer, or else the last message of the other side before it;
// -1 if there is none.
func counterpart(frames []wire.Frame, at int) int {
	marked := frames[at].Message()
	id := marked.ID()
	last := -1
	for i, f := range frames {
		if f.From == frames[at].From || f.IsTransportOnly() {
			continue
		}
		m := f.Message()
		switch {
		case marked.Kind == wire.Request && i > at && m.IsResponse() && m.ID().Equal(id),
			marked.IsResponse() && i < at && m.Kind == wire.Request && m.ID().Equal(id):
			return i
		case i < at:
			last = i
		}
	}
	if frames[at].From == wire.Client {
		return -1 // it was not answered
	}
	return last
}
