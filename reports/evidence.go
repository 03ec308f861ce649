package reports

import (
	"slices"

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
// request, the request of an answer, else the last message of the other side before it;
// -1 if there is none. An answer without a request of its id may be meant for the last
// request that is not answered.
func counterpart(frames []wire.Frame, at int) int {
	marked := frames[at].Message()
	last, unanswered := -1, -1
	for i, f := range frames {
		if f.From == frames[at].From || f.IsTransportOnly() {
			continue
		}
		m := f.Message()
		switch {
		case i > at && answers(m, marked), i < at && answers(marked, m):
			return i
		case i < at && !m.IsResponse():
			last = i
			if asks(m) && !slices.ContainsFunc(frames, func(f wire.Frame) bool { return answers(f.Message(), m) }) {
				unanswered = i
			}
		}
	}
	if frames[at].From == wire.Client {
		return -1 // it was not answered
	}
	if marked.IsResponse() && unanswered >= 0 {
		return unanswered
	}
	return last
}

// answers reports whether a message or a part of a batch is the response to a request
// in another.
func answers(response, request wire.Message) bool {
	for _, r := range response.Elements() {
		for _, q := range request.Elements() {
			if r.IsResponse() && q.Kind == wire.Request && r.ID().Equal(q.ID()) {
				return true
			}
		}
	}
	return false
}

// asks reports whether a message or a part of a batch is a request.
func asks(m wire.Message) bool {
	return slices.ContainsFunc(m.Elements(), func(e wire.Message) bool { return e.Kind == wire.Request })
}
