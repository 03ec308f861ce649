package spec

import "slices"

// Facts are the values that differ between revisions. Checks read them instead of
// comparing revisions.
type Facts struct {
	// Stateless reports that there is no initialize: each request carries its
	// protocol fields in _meta (basic/index#statelessness, since 2026-07-28).
	Stateless bool
	// BarrierMethod is the method of a request that a conforming peer answers at any
	// time in an open session: ping, or server/discover where ping was removed.
	BarrierMethod string
	// ResourceNotFound is the error code for reading a resource that does not exist
	// (server/resources#error-handling).
	ResourceNotFound int
	// Batches reports that a peer accepts JSON-RPC batches (basic/index#batching,
	// 2025-03-26 only).
	Batches bool
	// UTF8 reports that the transport page requires UTF-8 (basic/transports, since
	// 2025-03-26).
	UTF8 bool
	// CompletionCapability reports that completion has a capability of its own
	// (server/utilities/completion#capabilities, since 2025-03-26).
	CompletionCapability bool
	// CompletionContext reports that a completion request may carry the arguments
	// that are already known (server/utilities/completion#data-types, since
	// 2025-06-18).
	CompletionContext bool
	// ResultType reports that every result names its type (basic/index#resulttype,
	// since 2026-07-28).
	ResultType bool
	// ServerRequests are the requests that a server may send
	// (schema.ts#ServerRequest).
	ServerRequests []string
	// ClientRequests are the requests that a client may send
	// (schema.ts#ClientRequest).
	ClientRequests []string
	// ServerNotifications are the notifications that a server may send
	// (schema.ts#ServerNotification).
	ServerNotifications []string
	// ClientNotifications are the notifications that a client may send
	// (schema.ts#ClientNotification).
	ClientNotifications []string
	// ContentTypes are the types of content blocks of tool results and prompt
	// messages (schema.ts#ContentBlock).
	ContentTypes []string
	// Elicitation reports that a server may ask for input of the user
	// (client/elicitation, since 2025-06-18).
	Elicitation bool
	// ElicitationModes reports that a client declares form and URL elicitation
	// separately (client/elicitation#capabilities, since 2025-11-25).
	ElicitationModes bool
	// SamplingTools reports that a sampling request may offer tools
	// (client/sampling#sampling-with-tools, since 2025-11-25).
	SamplingTools bool
	// VersionHeader reports that requests over HTTP name the negotiated version in
	// a header (basic/transports#protocol-version-header, since 2025-06-18).
	VersionHeader bool
	// SamplingContentTypes are the types of content blocks of sampling messages
	// (schema.ts#SamplingMessage).
	SamplingContentTypes []string
}

// facts holds the values of every revision in their order, and behind them those of
// an unknown revision.
var facts = func() (all []Facts) {
	for _, r := range Revisions() {
		all = append(all, r.facts())
	}
	return append(all, Revision("").facts())
}()

// Facts returns the values of the revision; for an unknown revision, the values of
// the oldest one. A caller must not change the lists: all calls share them.
func (r Revision) Facts() Facts {
	if i := r.index(); i >= 0 {
		return facts[i]
	}
	return facts[len(facts)-1]
}

func (r Revision) facts() Facts {
	if Stateless.Has(r) {
		return clipped(statelessFacts())
	}
	f := handshakeFacts()
	f.Batches = r == V2025_03_26
	if Since(V2025_03_26).Has(r) {
		f.UTF8, f.CompletionCapability = true, true
		f.ContentTypes = append(f.ContentTypes, "audio")
		f.SamplingContentTypes = append(f.SamplingContentTypes, "audio")
	}
	if Since(V2025_06_18).Has(r) {
		f.CompletionContext, f.Elicitation, f.VersionHeader = true, true, true
		f.ContentTypes = append(f.ContentTypes, "resource_link")
		f.ServerRequests = append(f.ServerRequests, "elicitation/create")
	}
	if Since(V2025_11_25).Has(r) {
		f.ElicitationModes, f.SamplingTools = true, true
		f.SamplingContentTypes = append(f.SamplingContentTypes, "tool_use", "tool_result")
		tasks := []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"}
		f.ServerRequests = append(f.ServerRequests, tasks...)
		f.ClientRequests = append(f.ClientRequests, tasks...)
		f.ServerNotifications = append(f.ServerNotifications,
			"notifications/elicitation/complete", "notifications/tasks/status")
		f.ClientNotifications = append(f.ClientNotifications, "notifications/tasks/status")
	}
	return clipped(f)
}

// handshakeFacts returns the values of the oldest revision, from which the other
// revisions with a handshake differ by additions.
func handshakeFacts() Facts {
	return Facts{
		BarrierMethod:    "ping",
		ResourceNotFound: LegacyResourceNotFound,
		ServerRequests:   []string{"ping", "sampling/createMessage", "roots/list"},
		ClientRequests: append(commonClientRequests(),
			"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"),
		ServerNotifications: commonServerNotifications(),
		ClientNotifications: []string{
			"notifications/cancelled", "notifications/progress", "notifications/initialized",
			"notifications/roots/list_changed",
		},
		ContentTypes:         []string{"text", "image", "resource"},
		SamplingContentTypes: []string{"text", "image"},
	}
}

// statelessFacts returns the values of the stateless revision.
func statelessFacts() Facts {
	return Facts{
		Stateless:            true,
		ResultType:           true,
		BarrierMethod:        "server/discover",
		ResourceNotFound:     InvalidParams,
		UTF8:                 true,
		CompletionCapability: true,
		CompletionContext:    true,
		Elicitation:          true,
		ElicitationModes:     true,
		SamplingTools:        true,
		VersionHeader:        true,
		ClientRequests:       append(commonClientRequests(), "server/discover", "subscriptions/listen"),
		ServerNotifications: append(commonServerNotifications(),
			"notifications/subscriptions/acknowledged"),
		ClientNotifications:  []string{"notifications/cancelled"},
		ContentTypes:         []string{"text", "image", "resource", "audio", "resource_link"},
		SamplingContentTypes: []string{"text", "image", "audio", "tool_use", "tool_result"},
	}
}

// commonClientRequests returns the requests that a client may send at every
// revision.
func commonClientRequests() []string {
	return []string{
		"completion/complete", "prompts/get", "prompts/list", "resources/list",
		"resources/templates/list", "resources/read", "tools/call", "tools/list",
	}
}

// commonServerNotifications returns the notifications that a server may send at
// every revision.
func commonServerNotifications() []string {
	return []string{
		"notifications/cancelled", "notifications/progress", "notifications/message",
		"notifications/resources/updated", "notifications/resources/list_changed",
		"notifications/tools/list_changed", "notifications/prompts/list_changed",
	}
}

// clipped returns the facts with lists without spare capacity, so that a caller
// that appends to one gets a copy.
func clipped(f Facts) Facts {
	for _, list := range []*[]string{
		&f.ServerRequests, &f.ClientRequests, &f.ServerNotifications, &f.ClientNotifications,
		&f.ContentTypes, &f.SamplingContentTypes,
	} {
		*list = slices.Clip(*list)
	}
	return f
}

// LogLevels returns the severities of log messages, least severe first
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
