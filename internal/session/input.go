package session

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// MaxRounds bounds how often one request is sent again with input.
const MaxRounds = 8

// Interim reports whether an answer is an input_required result
// (basic/patterns/mrtr, since 2026-07-28).
func Interim(m wire.Message) bool {
	return m.Kind == wire.Result && m.Result().Get("resultType").String() == "input_required"
}

// Invoke sends a request and supplies the input that the server asks for. At a
// revision with a handshake the host answers the requests of the server. At a
// stateless revision Invoke sends the request again with the input until the result
// is complete. It returns the last answer: an input_required result if the host
// supplied nothing, or after MaxRounds.
func (s *Session) Invoke(ctx context.Context, method string, params Params) (wire.Entry, error) {
	e, err := s.Request(ctx, method, params)
	if err != nil {
		return e, err
	}
	return s.Rounds(ctx, method, params, e)
}

// Rounds supplies the input that an answer to a request asks for, as Invoke does.
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

// Retry returns the params for sending a request again after an input_required
// result: those of the request, with the answers of the host and the requestState of
// the result (basic/patterns/mrtr#client-requirements-basic-workflow). ok is false
// if the server asked for input and the host supplied nothing.
func (s *Session) Retry(params Params, interim gjson.Result) (retry Params, ok bool) {
	retry = maps.Clone(params)
	if retry == nil {
		retry = Params{}
	}
	delete(retry, "inputResponses")
	delete(retry, "requestState")
	answers, requested := Params{}, 0
	override := s.currentOverride()
	interim.Get("inputRequests").ForEach(func(key, request gjson.Result) bool {
		requested++
		reply := s.hostAnswer(Asked{
			Rev: s.Rev, Method: request.Get("method").String(), Params: request.Get("params"), Key: key.String(),
		}, override)
		if reply.Result != nil {
			answers[key.String()] = reply.Result
		}
		return true
	})
	if requested > 0 {
		retry["inputResponses"] = answers
	}
	if state := interim.Get("requestState"); state.Exists() {
		retry["requestState"] = json.RawMessage(state.Raw)
	}
	return retry, requested == 0 || len(answers) > 0
}
