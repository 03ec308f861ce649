package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A lifecycle opens sessions of one era.
type lifecycle interface {
	// open establishes the revision on the connection.
	open(ctx context.Context, s *Session, within time.Duration) Opening
	// addRequestMeta returns params with what every request of the era must carry.
	addRequestMeta(params Params) Params
}

// An Opening is the result of opening a session at a revision.
type Opening struct {
	// Spoken reports that the server named the revision in its answer.
	Spoken bool
	// ValidAnswer reports that the answer is one by which a server may accept or
	// reject the revision.
	ValidAnswer bool
	// StatelessEra reports that the server is of the stateless era: it answered with
	// a discover result or an error code of that era.
	StatelessEra    bool
	Reason          string // why the server does not speak the revision
	Answer          wire.Entry
	Answered        bool
	OfferedRevision string // the revision that the server named; "" for none
	Capabilities    gjson.Result
	ServerInfo      gjson.Result // serverInfo
	Duration        time.Duration
	Err             error            // why there was no answer
	StatusError     *HTTPStatusError // the answer of HTTP, if no message came
}

// describeAnswer describes an answer, with its HTTP status unless that is a success.
func describeAnswer(e wire.Entry) string {
	text := e.Message.Summary()
	if e.HTTP != nil && e.HTTP.Status >= 300 {
		text += fmt.Sprintf(" and HTTP status %d", e.HTTP.Status)
	}
	return text
}

// requestOpening sends the first request of a session and waits for the answer.
func requestOpening(ctx context.Context, s *Session, method string, params Params, within time.Duration) (o Opening) {
	began := time.Now()
	id := s.NextID()
	raw := wire.EncodeCall(id, method, params)
	if o.Err = s.checkGivenUp(raw); o.Err != nil {
		o.Reason = o.Err.Error()
		return o
	}
	at, err := s.Send(ctx, raw)
	switch {
	case err == nil:
		o.Answer, err = s.AwaitAnswer(ctx, at, id, within)
	case s.ConnectionError() == nil:
		err = &NotSentError{Method: method, ID: id, Err: err}
	}
	o.Duration = time.Since(began)
	if err != nil {
		o.Err = err
		o.Reason = fmt.Sprintf("no answer to %s: %v", method, err)
		if errors.As(err, &o.StatusError) {
			o.Reason = fmt.Sprintf("%s was answered with %v", method, err)
		}
		return o
	}
	o.Answered = true
	return o
}

// handshake is the era of initialize (basic/lifecycle#initialization).
type handshake struct {
	rev          spec.Revision
	capabilities Params
}

// InitializeParams returns the params of initialize for a revision and the
// capabilities of a client; nil for none.
func InitializeParams(rev spec.Revision, capabilities Params) Params {
	if capabilities == nil {
		capabilities = Params{}
	}
	return Params{
		"protocolVersion": string(rev),
		"capabilities":    capabilities,
		"clientInfo":      Params{"name": clientName, "version": clientVersion},
	}
}

// open sends initialize and, if the server accepts the revision,
// notifications/initialized.
func (h handshake) open(ctx context.Context, s *Session, within time.Duration) Opening {
	o := requestOpening(ctx, s, "initialize", InitializeParams(h.rev, h.capabilities), within)
	if !o.Answered {
		return o
	}
	m := o.Answer.Message
	if m.Kind != wire.Result {
		o.Reason = "initialize was answered with " + describeAnswer(o.Answer)
		return o
	}
	version := m.Result().Get("protocolVersion")
	o.OfferedRevision = version.String()
	o.Capabilities = m.Result().Get("capabilities")
	o.ServerInfo = m.Result().Get("serverInfo")
	switch {
	case version.Type != gjson.String:
		o.Reason = "initialize was answered without a protocolVersion"
	case o.OfferedRevision != string(h.rev):
		o.ValidAnswer = true
		o.Reason = fmt.Sprintf("initialize was answered with %s", wire.Clip(o.OfferedRevision, 40))
	default:
		o.ValidAnswer, o.Spoken = true, true
		if _, err := s.Notify(ctx, "notifications/initialized", nil); err != nil {
			o.Spoken, o.Reason = false, err.Error()
		}
	}
	return o
}

func (handshake) addRequestMeta(params Params) Params { return params }

// stateless is the era of protocol fields in each request
// (basic/index#statelessness).
type stateless struct {
	rev          spec.Revision
	capabilities Params
}

// open sends server/discover.
func (l stateless) open(ctx context.Context, s *Session, within time.Duration) Opening {
	o := requestOpening(ctx, s, "server/discover", l.addRequestMeta(nil), within)
	if !o.Answered {
		// A server with a handshake may answer so
		// (basic/transports/streamable-http#backward-compatibility).
		o.ValidAnswer = o.StatusError != nil && o.StatusError.Status >= 400 && o.StatusError.Status < 500
		return o
	}
	m := o.Answer.Message
	code, _ := m.ErrorCode()
	if m.Kind == wire.Error {
		o.ValidAnswer = true
		o.StatelessEra = code == spec.UnsupportedVersion || code == spec.MissingClientCapability
		o.Reason = "server/discover was answered with " + describeAnswer(o.Answer)
		return o
	}
	versions := m.Result().Get("supportedVersions")
	o.Capabilities = m.Result().Get("capabilities")
	o.ServerInfo = wire.Member(m.Result().Get("_meta"), spec.MetaServerInfo)
	if !versions.IsArray() {
		o.Reason = "server/discover was answered without supportedVersions"
		return o
	}
	o.ValidAnswer, o.StatelessEra = true, true
	for _, v := range versions.Array() {
		if v.String() == string(l.rev) {
			o.Spoken, o.OfferedRevision = true, string(l.rev)
			return o
		}
	}
	o.Reason = fmt.Sprintf("server/discover lists %s, not this revision", wire.Clip(versions.Raw, 120))
	return o
}

// addRequestMeta adds the protocol fields that the caller did not set. It leaves a
// _meta that is no object unchanged.
func (l stateless) addRequestMeta(params Params) Params {
	out := maps.Clone(params)
	if out == nil {
		out = Params{}
	}
	meta, given := out["_meta"].(Params)
	if _, present := out["_meta"]; present && !given {
		return out
	}
	meta = maps.Clone(meta)
	if meta == nil {
		meta = Params{}
	}
	for key, value := range RequestMeta(l.rev, l.capabilities) {
		if _, set := meta[key]; !set {
			meta[key] = value
		}
	}
	out["_meta"] = meta
	return out
}

// RequestMeta returns the protocol fields of a request at a stateless revision
// (basic/index#per-request-protocol-fields), with the capabilities of a client; nil
// for none.
func RequestMeta(rev spec.Revision, capabilities Params) Params {
	if capabilities == nil {
		capabilities = Params{}
	}
	return Params{
		spec.MetaProtocolVersion:    string(rev),
		spec.MetaClientInfo:         Params{"name": clientName, "version": clientVersion},
		spec.MetaClientCapabilities: capabilities,
	}
}
