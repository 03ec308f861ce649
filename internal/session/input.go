package session

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// maxInputRounds bounds how often one request is sent again with input.
const maxInputRounds = 8

// IsInputRequired reports whether an answer is an input_required result
// (basic/patterns/mrtr, since 2026-07-28).
func IsInputRequired(m wire.Message) bool {
	return m.Kind == wire.Result && m.Result().Get("resultType").String() == "input_required"
}

// RequestWithInput sends a request and supplies the input that the server asks for.
// At a revision with a handshake the host answers the requests of the server. At a
// stateless revision RequestWithInput sends the request again with the input until
// the result is complete. It returns the last answer: an input_required result if the
// host supplied nothing, or after maxInputRounds.
func (s *Session) RequestWithInput(ctx context.Context, method string, params Params) (wire.Entry, error) {
	e, err := s.Request(ctx, method, params)
	if err != nil {
		return e, err
	}
	return s.SupplyInput(ctx, method, params, e)
}

// SupplyInput supplies the input that an answer to a request asks for, as
// RequestWithInput does.
func (s *Session) SupplyInput(ctx context.Context, method string, params Params, e wire.Entry) (wire.Entry, error) {
	for round := 0; round < maxInputRounds && s.Rev.Facts().Stateless && IsInputRequired(e.Message); round++ {
		retry, ok := s.RetryParams(params, e.Message.Result())
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

// RetryParams returns the params for sending a request again after an input_required
// result: those of the request, with the answers of the host and the requestState of
// the result (basic/patterns/mrtr#client-requirements-basic-workflow). ok is false if
// the server asked for input and the host supplied nothing.
func (s *Session) RetryParams(params Params, interim gjson.Result) (retry Params, ok bool) {
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
		reply := s.hostAnswer(HostRequest{
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
