package session

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// MaxRounds bounds how often one request is sent again for want of input.
const MaxRounds = 8

// Interim tells whether an answer is an input_required result
// (basic/patterns/mrtr, since 2026-07-28).
func Interim(m wire.Message) bool {
	return m.Kind == wire.Result && m.Result().Get("resultType").String() == "input_required"
}

// Invoke sends a request and answers what the server asks for on its behalf:
// in the handshake era requests are answered as they come, in the stateless one
// the request is sent again with the answers until its result is complete. It
// returns the last answer, which is an interim result if nothing that was asked
// for could be answered or after MaxRounds.
func (s *Session) Invoke(ctx context.Context, method string, params Params) (wire.Entry, error) {
	e, err := s.Request(ctx, method, params)
	if err != nil {
		return e, err
	}
	return s.Rounds(ctx, method, params, e)
}

// Rounds does the same from the first answer on.
func (s *Session) Rounds(ctx context.Context, method string, params Params, e wire.Entry) (wire.Entry, error) {
	for round := 0; round < MaxRounds && s.Rev.Facts().Stateless && Interim(e.Message); round++ {
		retry, ok := s.Retry(params, e.Message.Result())
		if !ok {
			break
		}
		var err error
		if e, err = s.Request(ctx, method, retry); err != nil {
			return e, err
		}
	}
	return e, nil
}

// Retry returns the params of a request whose interim result asked for input:
// the same, with the answers of the host and the requestState as it came
// (basic/patterns/mrtr#client-requirements-basic-workflow). ok is false where
// something was asked for and nothing of it was answered.
func (s *Session) Retry(params Params, interim gjson.Result) (retry Params, ok bool) {
	retry = maps.Clone(params)
	if retry == nil {
		retry = Params{}
	}
	delete(retry, "inputResponses")
	delete(retry, "requestState")
	answers, asked := Params{}, 0
	instead := s.answering()
	interim.Get("inputRequests").ForEach(func(key, ask gjson.Result) bool {
		asked++
		reply := s.answerTo(Asked{Rev: s.Rev, Method: ask.Get("method").String(), Params: ask.Get("params"), Key: key.String()}, instead)
		if reply.Result != nil {
			answers[key.String()] = reply.Result
		}
		return true
	})
	if asked > 0 {
		retry["inputResponses"] = answers
	}
	if state := interim.Get("requestState"); state.Exists() {
		retry["requestState"] = json.RawMessage(state.Raw)
	}
	return retry, asked == 0 || len(answers) > 0
}
