package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// stateLifetime is the time that a client has from an input_required result to its
// retry.
const stateLifetime = 10 * time.Minute

// A requestState is what the client keeps for the server between an input_required
// result and the retry (basic/patterns/mrtr#core-types): the request that it
// belongs to, when it expires, and the answers so far. The server keeps nothing
// itself.
type requestState struct {
	Digest  string            `json:"for"`
	User    string            `json:"of,omitempty"` // "" if the server does not distinguish users
	Until   int64             `json:"until"`        // Unix milliseconds
	Answers map[string]Object `json:"answers,omitempty"`
}

// inputByResult takes the answers of a retry, and asks for the missing ones by an
// input_required result.
func (r *Request) inputByResult(requests []InputRequest, more moreInputRequests) (inputResult, *Error) {
	if problem := r.checkClientSupports(requests); problem != nil {
		return inputResult{}, problem
	}
	kept, problem := r.presentedState()
	if problem != nil {
		return inputResult{}, problem
	}
	responses, problem := r.inputResponses()
	if problem != nil {
		return inputResult{}, problem
	}
	answers, missing, open := map[string]Object{}, Object{}, true
	for len(requests) > 0 && len(missing) == 0 {
		open = open && !slices.ContainsFunc(requests, func(a InputRequest) bool { return !a.WithoutState })
		if problem := r.collectAnswers(requests, kept, responses, answers, missing); problem != nil {
			return inputResult{}, problem
		}
		if len(missing) == 0 {
			requests = more(answers)
		}
	}
	if len(missing) == 0 {
		return inputResult{answers: answers}, nil
	}
	interim := Object{"resultType": "input_required", "inputRequests": missing}
	if !open {
		interim["requestState"] = r.conn.seal(requestState{
			r.digest(), r.user(), time.Now().Add(stateLifetime).UnixMilli(), answers,
		})
	}
	return inputResult{interim: interim}, nil
}

// checkClientSupports returns an error if the client did not declare what one of
// the input requests needs.
func (r *Request) checkClientSupports(requests []InputRequest) *Error {
	for _, a := range requests {
		if !a.isSupportedBy(r.Client) {
			return &Error{
				spec.MissingClientCapability, "The client did not declare a capability that this needs",
				Object{"requiredCapabilities": missingCapabilities(requests, r.Client)},
			}
		}
	}
	return nil
}

// entryAt returns the input request as an entry of inputRequests at a revision.
func (a InputRequest) entryAt(v spec.Revision) Object {
	o := Object{"method": a.Method}
	if p := a.paramsAt(v); p != nil {
		o["params"] = p
	}
	return o
}

// collectAnswers puts the answers to the input requests, those of this retry and
// those of the kept state, into answers, and the requests without one into missing.
func (r *Request) collectAnswers(
	requests []InputRequest, kept *requestState, responses Object, answers map[string]Object, missing Object,
) *Error {
	for _, a := range requests {
		answer, isNew := responses[a.Key].(Object)
		switch {
		case kept == nil && !a.WithoutState: // without our state nothing was asked yet
		case isNew:
			if why := a.checkAnswer(answer); why != "" {
				return invalidParams("inputResponses.%s %s", a.Key, why)
			}
			answers[a.Key] = answer
		case kept != nil && kept.Answers[a.Key] != nil:
			answers[a.Key] = kept.Answers[a.Key]
		}
		if answers[a.Key] == nil {
			missing[a.Key] = a.entryAt(r.Revision)
		}
	}
	return nil
}

// missingCapabilities returns the capabilities that the requests need and the client
// lacks.
func missingCapabilities(requests []InputRequest, p Peer) Object {
	o := Object{}
	for _, a := range requests {
		if !a.isSupportedBy(p) {
			o[a.capability()] = a.requiredSettings()
		}
	}
	return o
}

// inputResponses returns that member of the params, whose values must be objects.
// Entries that were not asked for are ignored.
func (r *Request) inputResponses() (Object, *Error) {
	v, ok := r.Params["inputResponses"]
	if !ok {
		return nil, nil
	}
	o, ok := v.(Object)
	if !ok {
		return nil, invalidParams("The parameter inputResponses must be an object")
	}
	for key, answer := range o {
		if !isObject(answer) {
			return nil, invalidParams("The entry %q of inputResponses must be an object", clip(key))
		}
	}
	return o, nil
}

// presentedState returns the state that the request carries, nil if there is none.
// State that does not verify, has expired or belongs to another request is rejected
// (basic/patterns/mrtr#server-requirements-basic-workflow).
func (r *Request) presentedState() (*requestState, *Error) {
	v, ok := r.Params["requestState"]
	if !ok || !r.Stateless {
		return nil, nil
	}
	sealed, ok := v.(string)
	if !ok {
		return nil, invalidParams("The parameter requestState must be a string")
	}
	s, ok := r.conn.unseal(sealed)
	switch {
	case !ok:
		return nil, invalidParams("The requestState does not verify")
	case s.Digest != r.digest():
		return nil, invalidParams("The requestState belongs to another request")
	case !r.owns(OwnedState, s.User):
		return nil, invalidParams("The requestState belongs to another user")
	case time.Now().UnixMilli() > s.Until:
		return nil, invalidParams("The requestState has lapsed")
	}
	return s, nil
}

// digest identifies a request and its retries by the method and its subject.
func (r *Request) digest() string {
	o := Object{"method": r.Method}
	for _, member := range []string{"name", "uri", "arguments"} {
		if v, ok := r.Params[member]; ok {
			o[member] = v
		}
	}
	sum := sha256.Sum256(wire.Encode(o))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// seal encodes and signs a state.
func (c *conn) seal(s requestState) string {
	body := base64.RawURLEncoding.EncodeToString(wire.Encode(s))
	return body + "." + c.sign(body)
}

// unseal decodes a state; ok is false if its signature is not ours.
func (c *conn) unseal(sealed string) (*requestState, bool) {
	body, signature, ok := strings.Cut(sealed, ".")
	if !ok || !hmac.Equal([]byte(signature), []byte(c.sign(body))) {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return nil, false
	}
	s := &requestState{}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	return s, d.Decode(s) == nil
}

func (c *conn) sign(body string) string {
	h := hmac.New(sha256.New, c.options.StateKey)
	h.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
