package spec

import "slices"

// Facts are the values that differ between revisions. Bodies of checks read
// them instead of comparing revisions.
type Facts struct {
	// Stateless: no initialize, per-request _meta, server/discover
	// (basic/index#statelessness, since 2026-07-28).
	Stateless bool
	// Barrier is a request that any conforming peer answers at any time in
	// an open session: ping, or server/discover where ping was removed.
	Barrier string
	// ResourceNotFound is the error code for reading a resource that does
	// not exist (server/resources#error-handling).
	ResourceNotFound int
	// Batches: JSON-RPC arrays are received (basic/index#batching, 2025-03-26
	// only).
	Batches bool
	// UTF8: the transport page states the encoding of messages
	// (basic/transports, since 2025-03-26).
	UTF8 bool
	// CompletionCapability: completion has a capability of its own
	// (server/utilities/completion#capabilities, since 2025-03-26).
	CompletionCapability bool
	// CompletionContext: a completion is told what was filled in before
	// (server/utilities/completion#data-types, since 2025-06-18).
	CompletionContext bool
	// ResultType: every result names its type (basic/index#resulttype).
	ResultType bool
	// ServerRequests are the requests a server may send
	// (schema.ts#ServerRequest).
	ServerRequests []string
	// ClientRequests are the requests a client may send
	// (schema.ts#ClientRequest).
	ClientRequests []string
	// ServerNotifications and ClientNotifications are the notifications the
	// schema defines for each direction.
	ServerNotifications []string
	ClientNotifications []string
	// ContentTypes are the types of content blocks of tool results and
	// prompt messages (schema.ts#ContentBlock).
	ContentTypes []string
	// Elicitation: a server may ask the user (client/elicitation, since
	// 2025-06-18); ElicitationModes: by a form or by a page to visit, each
	// declared on its own, and SamplingTools: sampling may offer tools (since
	// 2025-11-25).
	Elicitation, ElicitationModes, SamplingTools bool
	// VersionHeader: requests over HTTP name the agreed version in a header
	// (basic/transports#protocol-version-header, since 2025-06-18).
	VersionHeader bool
	// SamplingContentTypes are the types of content blocks of sampling
	// messages (schema.ts#SamplingMessage).
	SamplingContentTypes []string
}

// facts holds the values of all revisions, in their order, and of none.
var facts = func() (all []Facts) {
	for _, r := range Revisions() {
		all = append(all, r.facts())
	}
	return append(all, Revision("").facts())
}()

// Facts returns the values of the revision, of an unknown one what all have.
// Its lists are the same at each call, and must not be changed.
func (r Revision) Facts() Facts {
	if i := r.index(); i >= 0 {
		return facts[i]
	}
	return facts[len(facts)-1]
}

func (r Revision) facts() Facts {
	i := r.index()
	f := Facts{
		Barrier:             "ping",
		ResourceNotFound:    -32002,
		ServerRequests:      []string{"ping", "sampling/createMessage", "roots/list"},
		ClientRequests:      []string{"initialize", "ping", "completion/complete", "logging/setLevel", "prompts/get", "prompts/list", "resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe", "tools/call", "tools/list"},
		ServerNotifications: []string{"notifications/cancelled", "notifications/progress", "notifications/message", "notifications/resources/updated", "notifications/resources/list_changed", "notifications/tools/list_changed", "notifications/prompts/list_changed"},
		ClientNotifications: []string{"notifications/cancelled", "notifications/progress", "notifications/initialized", "notifications/roots/list_changed"},
		ContentTypes:        []string{"text", "image", "resource"},

		SamplingContentTypes: []string{"text", "image"},
	}
	if i >= V2025_03_26.index() {
		f.ContentTypes = append(f.ContentTypes, "audio")
		f.SamplingContentTypes = append(f.SamplingContentTypes, "audio")
	}
	f.Batches = r == V2025_03_26
	f.UTF8 = i >= V2025_03_26.index()
	f.CompletionCapability = i >= V2025_03_26.index()
	f.CompletionContext = i >= V2025_06_18.index()
	if i >= V2025_06_18.index() {
		f.ContentTypes = append(f.ContentTypes, "resource_link")
		f.ServerRequests = append(f.ServerRequests, "elicitation/create")
		f.Elicitation, f.VersionHeader = true, true
	}
	if i >= V2025_11_25.index() {
		f.ElicitationModes, f.SamplingTools = true, true
		f.SamplingContentTypes = append(f.SamplingContentTypes, "tool_use", "tool_result")
		tasks := []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"}
		f.ServerRequests = append(f.ServerRequests, tasks...)
		f.ClientRequests = append(f.ClientRequests, tasks...)
		f.ServerNotifications = append(f.ServerNotifications, "notifications/elicitation/complete", "notifications/tasks/status")
		f.ClientNotifications = append(f.ClientNotifications, "notifications/tasks/status")
	}
	if Stateless.Has(r) {
		f.Stateless, f.ResultType = true, true
		f.Barrier = "server/discover"
		f.ResourceNotFound = -32602
		f.ServerRequests = nil
		f.ClientRequests = []string{"server/discover", "completion/complete", "prompts/get", "prompts/list", "resources/list", "resources/templates/list", "resources/read", "subscriptions/listen", "tools/call", "tools/list"}
		f.ServerNotifications = []string{"notifications/cancelled", "notifications/progress", "notifications/message", "notifications/resources/updated", "notifications/resources/list_changed", "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/subscriptions/acknowledged"}
		f.ClientNotifications = []string{"notifications/cancelled"}
	}
	for _, list := range []*[]string{&f.ServerRequests, &f.ClientRequests, &f.ServerNotifications, &f.ClientNotifications, &f.ContentTypes, &f.SamplingContentTypes} {
		*list = slices.Clip(*list) // who appends to it gets a copy
	}
	return f
}

// LogLevels returns the severities of log messages, mildest first
// (server/utilities/logging#log-levels).
func LogLevels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

// Keys of the per-request protocol fields in _meta
// (basic/index#per-request-protocol-fields, since 2026-07-28).
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"
)

// Error codes of JSON-RPC 2.0 section 5.1 and of basic/index#error-codes.
const (
	ParseError                = -32700
	InvalidRequest            = -32600
	MethodNotFound            = -32601
	InvalidParams             = -32602
	InternalError             = -32603
	HeaderMismatch            = -32020
	MissingClientCapability   = -32021
	UnsupportedVersion        = -32022
	LegacyResourceNotFound    = -32002
	LegacyURLElicitationError = -32042
)
