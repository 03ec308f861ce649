package transcript

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A ClientSession is what a client did in one connection with a server, with the
// revision whose rules apply to it.
type ClientSession struct {
	*wire.Transcript
	// Rev is the agreed revision, else the one that the client opened with; "" if that
	// one is not published.
	Rev spec.Revision
	// Spoken: server and client agreed on Rev, and the client offered it or went on
	// with it.
	Spoken bool
	// Opened: the client sent an opening of any version.
	Opened bool
	// Why says why Spoken is false.
	Why string
}

// ClientSessionOf determines the revision of a session.
func ClientSessionOf(t *wire.Transcript) ClientSession {
	s := ClientSession{Transcript: t}
	entries := t.Entries()
	if rev, spoken, ok := statelessRevision(entries); ok {
		s.Rev, s.Spoken, s.Opened = rev, spoken, true
		if !spoken {
			s.Why = "the server refused the version that the client named"
		}
		return s
	}
	ask, answer, ok := FindInitialize(entries)
	if !ok {
		if rev, modern := namedRevision(entries); modern {
			s.Rev, s.Opened = rev, true
			s.Why = "the client opened with a request of the stateless era, which the server refused"
			return s
		}
		s.Why = "the client sent neither initialize nor a request of the stateless era"
		return s
	}
	s.Opened = true
	offered := ask.Message.Params().Get("protocolVersion").String()
	version := answer.Message.Result().Get("protocolVersion").String()
	agreed, err := spec.ParseRevision(version)
	switch {
	case answer.Message.Kind != wire.Result:
		s.Why = fmt.Sprintf("the client opened with initialize at %s, which the server refused", wire.Clip(offered, 40))
	case err == nil && (version == offered || HasContinued(entries, answer.Index)):
		s.Rev, s.Spoken = agreed, true
		return s
	default:
		s.Why = fmt.Sprintf("the client offered %s and did nothing more after the server answered %s",
			wire.Clip(offered, 40), wire.Clip(version, 40))
	}
	if rev, err := spec.ParseRevision(offered); err == nil && !rev.Facts().Stateless {
		s.Rev = rev
	}
	return s
}

// Summary says what the client did, for a revision that it did not speak.
func (s ClientSession) Summary() string {
	if s.Spoken {
		return fmt.Sprintf("the client went on at %s", s.Rev)
	}
	return s.Why
}

// FindInitialize returns the first initialize of the client and its answer, which is
// the zero entry if there is none.
func FindInitialize(entries []wire.Entry) (ask, answer wire.Entry, ok bool) {
	for _, e := range entries {
		for _, m := range e.Message.Elements() {
			switch {
			case !ok && e.From == wire.Client && m.Kind == wire.Request && m.Method() == "initialize":
				ask, ok = e, true
				ask.Message = m
			case ok && e.From == wire.Server && m.IsResponse() && m.ID().Equal(ask.Message.ID()):
				answer = e
				answer.Message = m
				return ask, answer, true
			}
		}
	}
	return ask, answer, ok
}

// HasContinued reports whether the client sent anything but responses after a frame.
func HasContinued(entries []wire.Entry, after int) bool {
	return slices.ContainsFunc(entries, func(e wire.Entry) bool {
		return e.Index > after && e.From == wire.Client && !e.Message.IsResponse()
	})
}

// IsStatelessRequest reports whether a request is of the stateless era: it is
// server/discover, or it has the metadata of that era.
func IsStatelessRequest(m wire.Message) bool {
	return m.Kind == wire.Request && (m.Method() == "server/discover" ||
		wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion).Exists())
}

// namedRevision returns the revision of the stateless era that the client's requests
// name, or the newest one if they name none that is published.
func namedRevision(entries []wire.Entry) (rev spec.Revision, found bool) {
	for _, e := range entries {
		if e.From != wire.Client || !IsStatelessRequest(e.Message) {
			continue
		}
		found = true
		version := wire.Member(e.Message.Params().Get("_meta"), spec.MetaProtocolVersion).String()
		if rev, err := spec.ParseRevision(version); err == nil && rev.Facts().Stateless {
			return rev, true
		}
	}
	return spec.Stateless.Newest(), found
}

// statelessRevision returns the revision of a session whose server answered as one of
// the stateless era: with a result, or with an error that only that era has. The client
// is then judged by that era even if it went on with a handshake.
func statelessRevision(entries []wire.Entry) (rev spec.Revision, spoken, ok bool) {
	for _, e := range entries {
		if e.From != wire.Client || !IsStatelessRequest(e.Message) {
			continue
		}
		answer, found := AnswerTo(entries, e)
		if !found {
			continue
		}
		ok = ok || IsStatelessAnswer(answer.Message)
		spoken = spoken || answer.Message.Kind == wire.Result
	}
	if ok {
		rev, _ = namedRevision(entries)
	}
	return rev, spoken, ok
}

// IsStatelessAnswer reports whether an answer shows that the server is of the stateless
// era.
func IsStatelessAnswer(m wire.Message) bool {
	code, _ := m.ErrorCode()
	return m.Kind == wire.Result || code == spec.UnsupportedVersion || code == spec.MissingClientCapability
}

// AnswerTo returns the answer of the server to a request.
func AnswerTo(entries []wire.Entry, ask wire.Entry) (wire.Entry, bool) {
	for _, e := range entries {
		if e.Index < ask.Index {
			continue
		}
		for _, m := range e.Message.Elements() {
			if e.From == wire.Server && m.IsResponse() && m.ID().Equal(ask.Message.ID()) {
				e.Message = m
				return e, true
			}
		}
	}
	return wire.Entry{}, false
}

// SupportedVersions returns the versions that a discover result or an error of an
// unsupported version lists.
func SupportedVersions(m wire.Message) []gjson.Result {
	if m.Kind == wire.Error {
		return m.Error().Get("data.supported").Array()
	}
	return m.Result().Get("supportedVersions").Array()
}

// ListsVersion reports whether SupportedVersions has a version.
func ListsVersion(m wire.Message, version string) bool {
	return slices.ContainsFunc(SupportedVersions(m), func(v gjson.Result) bool { return v.String() == version })
}

// Client returns the name and version that the client gave, "" if none.
func (s ClientSession) Client() (name, version string) {
	for _, e := range s.Entries() {
		if e.From != wire.Client || e.Message.Kind != wire.Request {
			continue
		}
		if info := PeerInfo(e.Message, "clientInfo", spec.MetaClientInfo); info.IsObject() {
			return wire.Clip(info.Get("name").String(), 80), wire.Clip(info.Get("version").String(), 40)
		}
	}
	return "", ""
}
